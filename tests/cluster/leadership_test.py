"""Two longshore-controllers with a real API server: one leads, the other is a standby; and the ways in which a term ends."""

import json
import os
import pathlib
import re
import signal
import sys
import time
import urllib.error
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from authority import Authority
from control_plane import ControlPlane, Port
from program import Program, wait_for

BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", "build/dev/bin")).resolve()
LEASE = {"lease_duration": "2s", "lease_renew_deadline": "1500ms", "lease_retry_period": "300ms"}
WAIT_MAX_S = 20  # Much more than a takeover should need, because the machine may be busy.
FLEET = """
apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {name: cpu}
spec: {replicas: {min: 1, max: 1}}
"""


@pytest.fixture(scope="module")
def cluster():
    with ControlPlane() as control_plane:
        control_plane.kubectl("apply", "-f", "-", input=FLEET)
        yield control_plane


class Controller:
    """`flags`: replace the default flags."""

    def __init__(self, cluster, folder, **flags):
        folder.mkdir()
        self.folder = folder
        authority = Authority(folder / "ca")
        nodes = Port("127.0.0.1")
        flags = {"kubeconfig": cluster.kubeconfig, "namespace": "default", "node_image": "longshore/node:test",
                 "node_address": f"127.0.0.1:{nodes.number}", "advertised_address": f"dns:///localhost:{nodes.number}",
                 "ca_cert_file": authority.certificate, "ca_key_file": authority.key, "admin_port": 0, "console_port": 0,
                 "port_file": folder / "port", **LEASE, **flags}
        self.program = Program(folder, "controller", [
            BIN / "longshore-controller", "--kubernetes", *(f"--{name}={value}" for name, value in flags.items())])
        nodes.close()
        wait_for("the controller's port", (folder / "port").exists, WAIT_MAX_S, [self.program])
        self.admin = json.loads((folder / "port").read_text())["admin"]

    def page(self, name):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/{name}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name):
        return float(re.search(rf"^longshore_controller_{name} (\S+)$", self.page("metrics")[1], re.M)[1])

    def epoch(self):
        return self.metric("epoch")

    def is_ready(self):
        return self.page("readyz")[0] == 200

    def signal(self, number):
        self.program.process.send_signal(number)

    def end(self):
        """Stops the controller and returns its exit status."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        return self.program.process.wait(30)


@pytest.fixture
def controllers(cluster, tmp_path):
    """A function that starts a controller. All controllers end with the test."""
    started = []

    def start(**flags):
        started.append(Controller(cluster, tmp_path / str(len(started)), **flags))
        return started[-1]

    yield start
    for controller in started:
        controller.program.end()


def leader_of(*controllers):
    """Waits until exactly one of two controllers leads; returns it and the other one."""
    def find_leaders():
        leading = [controller for controller in controllers if controller.epoch() > 0]
        return leading if len(leading) == 1 else None
    leader = wait_for("one leader", find_leaders, WAIT_MAX_S, [controller.program for controller in controllers])[0]
    return leader, next(controller for controller in controllers if controller is not leader)


def wait_for_takeover(standby, epoch):
    wait_for("the standby to lead", lambda: standby.epoch() > epoch, WAIT_MAX_S, [standby.program])


def epoch_of_status(cluster):
    status = json.loads(cluster.kubectl("get", "servingfleet", "cpu", "-o", "json")).get("status", {})
    return status.get("epoch", 0)


def test_a_stopped_leader_becomes_a_standby_and_keeps_its_cache(cluster, controllers):
    first, second = leader_of(controllers(), controllers())
    assert first.is_ready() and second.is_ready(), "a standby must be ready too"
    epoch, lists = first.epoch(), first.metric("lists")
    first.signal(signal.SIGSTOP)
    wait_for_takeover(second, epoch)
    now = second.epoch()
    first.signal(signal.SIGCONT)
    wait_for("the former leader to be a standby", lambda: first.epoch() == 0, WAIT_MAX_S, [first.program])
    assert "the term of epoch" in first.program.log.read_text()
    wait_for("the new leader's epoch in the status", lambda: epoch_of_status(cluster) == now, WAIT_MAX_S)
    assert first.metric("lists") == lists, "it must not list the objects again"
    second.program.end()
    wait_for_takeover(first, now)
    assert first.metric("lists") == lists
    assert first.end() == 0


def test_a_leader_that_stops_releases_the_lease_immediately(cluster, controllers):
    first, second = leader_of(controllers(), controllers())
    epoch = first.epoch()
    began = time.monotonic()
    assert first.end() == 0
    took = time.monotonic() - began
    wait_for_takeover(second, epoch)
    assert took < 10, "stopping must not wait for a timeout"


def test_deleting_the_lease_does_not_lower_the_epoch(cluster, controllers):
    only = controllers()
    epoch = wait_for("a term", only.epoch, WAIT_MAX_S, [only.program])
    cluster.kubectl("delete", "lease", "longshore-controller")
    wait_for("the Lease to be created again", lambda: "longshore-controller" in cluster.kubectl("get", "leases"), WAIT_MAX_S)
    assert only.end() == 0
    cluster.kubectl("delete", "lease", "longshore-controller")
    later = controllers()
    assert wait_for("a term", later.epoch, WAIT_MAX_S, [later.program]) > epoch


def test_without_the_api_server_it_is_live_but_not_ready_and_can_be_stopped(cluster, controllers):
    cluster.stop_server()
    try:
        controller = controllers()
        assert controller.page("livez")[0] == 200
        status, reason = controller.page("readyz")
        assert status == 503 and reason.strip()
        assert controller.end() == 0
    finally:
        cluster.restart_server()


def test_a_controller_that_cannot_listen_releases_the_lease_and_reports_why(cluster, controllers):
    controller = controllers(node_address="192.0.2.1:8610")
    assert controller.program.process.wait(WAIT_MAX_S) == 1
    assert "cannot listen for nodes on 192.0.2.1:8610" in controller.program.log.read_text()
    assert json.loads(cluster.kubectl("get", "lease", "longshore-controller", "-o", "json"))["spec"].get("holderIdentity", "") == ""


def test_invalid_ca_files_are_rejected_by_name(cluster, controllers, tmp_path):
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("not a certificate")
    with pytest.raises(Exception, match="wrong.pem"):
        controllers(ca_cert_file=wrong)
