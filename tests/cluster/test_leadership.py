"""Two longshore-controllers beside a real API server: one leads, the other stands by; and what ends a term."""

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
TAKEN_OVER_MAX_S = 20  # Of what is waited for, not of what is promised: the machine may be busy.
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
    """`flags`: in place of those that it would have."""

    def __init__(self, cluster, folder, **flags):
        folder.mkdir()
        self.folder = folder
        authority = Authority(folder / "ca")
        nodes = Port("127.0.0.1")
        flags = {"kubeconfig": cluster.kubeconfig, "namespace": "default", "node_image": "longshore/node:test",
                 "node_address": f"127.0.0.1:{nodes.number}", "advertised_address": f"dns:///localhost:{nodes.number}",
                 "ca_cert_file": authority.certificate, "ca_key_file": authority.key, "admin_port": 0,
                 "port_file": folder / "port", **LEASE, **flags}
        self.program = Program(folder, "controller", [
            BIN / "longshore-controller", "--kubernetes", *(f"--{name}={value}" for name, value in flags.items())])
        nodes.close()
        wait_for("the controller's port", (folder / "port").exists, TAKEN_OVER_MAX_S, [self.program])
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
        """Its exit status."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        return self.program.process.wait(30)


@pytest.fixture
def controllers(cluster, tmp_path):
    """To be started by number; all end with the test."""
    started = []

    def start(**flags):
        started.append(Controller(cluster, tmp_path / str(len(started)), **flags))
        return started[-1]

    yield start
    for it in started:
        it.program.end()


def leader_of(*controllers):
    """The only one that leads, and the other."""
    def who():
        leading = [it for it in controllers if it.epoch() > 0]
        return leading if len(leading) == 1 else None
    leader = wait_for("one leader", who, TAKEN_OVER_MAX_S, [it.program for it in controllers])[0]
    return leader, next(it for it in controllers if it is not leader)


def takes_over(standby, epoch):
    wait_for("the other one to lead", lambda: standby.epoch() > epoch, TAKEN_OVER_MAX_S, [standby.program])


def epoch_of_status(cluster):
    status = json.loads(cluster.kubectl("get", "servingfleet", "cpu", "-o", "json")).get("status", {})
    return status.get("epoch", 0)


def test_a_leader_that_stood_still_leads_no_more_and_keeps_what_it_knows(cluster, controllers):
    first, second = leader_of(controllers(), controllers())
    assert first.is_ready() and second.is_ready(), "a standby is ready too"
    epoch, lists = first.epoch(), first.metric("lists")
    first.signal(signal.SIGSTOP)
    takes_over(second, epoch)
    now = second.epoch()
    first.signal(signal.SIGCONT)
    wait_for("the former leader to stand by", lambda: first.epoch() == 0, TAKEN_OVER_MAX_S, [first.program])
    assert "the term of epoch" in first.program.log.read_text()
    wait_for("the new leader's epoch in the status", lambda: epoch_of_status(cluster) == now, TAKEN_OVER_MAX_S)
    assert first.metric("lists") == lists, "it lists nothing again"
    second.program.end()
    takes_over(first, now)
    assert first.metric("lists") == lists
    assert first.end() == 0


def test_one_that_leaves_in_order_hands_over_at_once(cluster, controllers):
    first, second = leader_of(controllers(), controllers())
    epoch = first.epoch()
    began = time.monotonic()
    assert first.end() == 0
    took = time.monotonic() - began
    takes_over(second, epoch)
    assert took < 10, "nothing is waited out"


def test_a_lease_that_is_deleted_lowers_no_epoch(cluster, controllers):
    only = controllers()
    epoch = wait_for("a term", only.epoch, TAKEN_OVER_MAX_S, [only.program])
    cluster.kubectl("delete", "lease", "longshore-controller")
    wait_for("the Lease to be there again", lambda: "longshore-controller" in cluster.kubectl("get", "leases"), TAKEN_OVER_MAX_S)
    assert only.end() == 0
    cluster.kubectl("delete", "lease", "longshore-controller")
    later = controllers()
    assert wait_for("a term", later.epoch, TAKEN_OVER_MAX_S, [later.program]) > epoch


def test_without_the_api_server_it_lives_is_not_ready_and_ends_when_it_is_told(cluster, controllers):
    cluster.stop_server()
    try:
        it = controllers()
        assert it.page("livez")[0] == 200
        status, why = it.page("readyz")
        assert status == 503 and why.strip()
        assert it.end() == 0
    finally:
        cluster.restart_server()


def test_one_that_cannot_listen_gives_the_lease_up_and_says_why(cluster, controllers):
    it = controllers(node_address="192.0.2.1:8610")
    assert it.program.process.wait(TAKEN_OVER_MAX_S) == 1
    assert "cannot listen for nodes on 192.0.2.1:8610" in it.program.log.read_text()
    assert json.loads(cluster.kubectl("get", "lease", "longshore-controller", "-o", "json"))["spec"].get("holderIdentity", "") == ""


def test_files_that_are_no_authority_are_refused_by_name(cluster, controllers, tmp_path):
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    with pytest.raises(Exception, match="wrong.pem"):
        controllers(ca_cert_file=wrong)
