"""Nodes of a fleet with a real API server: they get certificates for their pods' tokens, and authenticate to peers with these.

The API server has no machines, so no pod runs. The test runs the node of each pod itself, with a token bound to the pod.
"""

import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from authority import Authority
from control_plane import ControlPlane, Port
from program import Program, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", ROOT / "build/dev/bin")).resolve()
FLEET = """
apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {name: cpu, namespace: vision}
spec: {replicas: {min: 2, max: 2}}
"""
MODEL = """
apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: half, namespace: vision}
spec: {fleet: cpu, source: {uri: "file://SOURCE"}, version: VERSION}
"""
SECONDS = 60


class Node:
    def __init__(self, fleet, pod):
        self.name, self.folder = pod["metadata"]["name"], fleet.folder / pod["metadata"]["name"]
        self.folder.mkdir()
        (self.folder / "token").write_text(fleet.cluster.kubectl(
            "create", "token", "longshore-cpu", "--namespace=vision", "--audience=longshore-controller",
            "--bound-object-kind=Pod", f"--bound-object-name={self.name}", f"--bound-object-uid={pod['metadata']['uid']}"))
        self.program = Program(self.folder, "node", [
            fleet.programs / "longshore-node", f"--controller={fleet.controller_address}",
            f"--controller_ca_file={fleet.authority.certificate}",
            f"--controller_token_file={self.folder}/token", "--fleet=vision/cpu", f"--node={self.name}",
            f"--state_dir={self.folder}/state", "--host=127.0.0.1", "--port=0", "--rest_api_port=0", "--admin_port=0",
            "--peer_address=127.0.0.1:0", f"--port_file={self.folder}/ports"])
        self.ports = json.loads(wait_for("the node to listen", self._read_ports, SECONDS, [self.program]))

    def _read_ports(self):
        ports = self.folder / "ports"
        return ports.exists() and ports.read_text()

    def admin(self, page):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['admin']}/{page}", timeout=10) as answer:
            return answer.read().decode()

    def peer_address(self):
        return json.loads(self.admin("debug/state"))["peer_address"]

    def holds(self):
        versions = json.loads(self.admin("debug/state"))["models"].get("half", [])
        return {version["version"] for version in versions if version["state"] == "available"}

    def predict(self, version):
        """The version's prediction for the input 2; None if this node does not know a holder of the version yet."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.ports['rest']}/v1/models/half/versions/{version}:predict",
                                         data=b'{"instances": [2.0]}')
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.loads(answer.read())["predictions"]
        except urllib.error.HTTPError as error:
            if error.code in (404, 503):
                return None
            raise

    def forwarded(self):
        return sum(float(count) for count in re.findall(r"^longshore_forwarded_total\{.*\} (\S+)$", self.admin("metrics"), re.M))

    def certificate(self):
        """The certificate that the node presents to peers, as text."""
        shown = subprocess.run(["openssl", "s_client", "-connect", self.peer_address()], input="", capture_output=True,
                               text=True, timeout=20, check=False).stdout
        return subprocess.run(["openssl", "x509", "-noout", "-text"], input=shown, capture_output=True, text=True,
                              check=True).stdout


class Fleet:
    """A controller, and a node for each pod. `programs`: the folder of the programs that are started from now on."""

    def __init__(self, cluster, programs=BIN):
        self.programs = programs
        self.cluster, self.folder = cluster, cluster.folder / "fleet"
        self.folder.mkdir()
        self.authority = Authority(self.folder / "pki")
        self.port = Port("127.0.0.1")
        self.controller_address = f"localhost:{self.port.number}"
        self.mounted = {suffix: self.folder / f"tls.{suffix}" for suffix in ("crt", "key")}  # The controller's files.
        self.mount(self.authority)
        self.start_controller()
        self.nodes = []

    def mount(self, authority):
        for suffix, file in (("crt", authority.certificate), ("key", authority.key)):
            self.mounted[suffix].with_suffix(".new").write_bytes(file.read_bytes())
            self.mounted[suffix].with_suffix(".new").rename(self.mounted[suffix])

    def start_controller(self):
        self.controller = Program(self.folder, "controller", [
            self.programs / "longshore-controller", "--kubernetes", f"--kubeconfig={self.cluster.kubeconfig}", "--namespace=default",
            f"--node_address=127.0.0.1:{self.port.number}", f"--advertised_address={self.controller_address}",
            "--admin_port=0", f"--port_file={self.folder}/controller.json", "--node_image=longshore/node:1",
            *(["--console_port=0"] if self.programs == BIN else []),  # The previous release has no console.
            "--lease_duration=3s", "--lease_renew_deadline=2s", "--lease_retry_period=200ms",
            f"--ca_cert_file={self.mounted['crt']}", f"--ca_key_file={self.mounted['key']}"])

    def trusted_cas(self):
        """The CAs that the pods trust, from their ConfigMap."""
        config_map = self.cluster.kubectl("get", "configmap", "longshore-cpu-ca", "--namespace=vision", "-o", "json")
        return json.loads(config_map)["data"]["ca.crt"]

    def apply(self, text):
        self.cluster.kubectl("apply", "-f", "-", input=text)

    def serve(self, version):
        self.apply(MODEL.replace("SOURCE", str(self.folder / "half")).replace("VERSION", str(version)))

    def uid(self):
        return self.cluster.kubectl("get", "servingfleet", "cpu", "--namespace=vision", "-o", "jsonpath={.metadata.uid}")

    def _new_pods(self):
        known = {node.name for node in self.nodes}
        pods = json.loads(self.cluster.kubectl("get", "pods", "--namespace=vision", "-o", "json"))["items"]
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"] and pod["metadata"]["name"] not in known]

    def start_nodes(self):
        pods = self.wait("two new pods", lambda: len(self._new_pods()) == 2 and self._new_pods())
        nodes = [Node(self, pod) for pod in pods]
        self.nodes += nodes
        for node in nodes:
            self.wait("a certificate", node.peer_address)
        return nodes

    def wait(self, what, condition):
        return wait_for(what, condition, SECONDS, [self.controller, *(node.program for node in self.nodes)])

    def end(self):
        for program in [self.controller, *(node.program for node in self.nodes)]:
            program.end()
        self.port.close()


@pytest.fixture(scope="module")
def fleet():
    with ControlPlane(controllers=True) as cluster:
        cluster.kubectl("create", "namespace", "vision")
        made = Fleet(cluster)
        for version in (1, 2):
            shutil.copytree(next((ROOT / "tests/models/half_plus_two_tf2").iterdir()), made.folder / "half" / str(version))
        try:
            made.apply(FLEET)
            yield made
        finally:
            made.end()


def test_nodes_get_certificates_and_forward_requests_with_them(fleet):
    fleet.serve(1)
    one, other = fleet.start_nodes()
    for node in (one, other):
        certificate = node.certificate()
        assert f"DNS:{fleet.uid()}.cpu.vision.fleet.longshore.internal" in certificate
        assert f"URI:spiffe://longshore.internal/ns/vision/fleet/cpu/uid/{fleet.uid()}/node/{node.name}" in certificate
        fleet.wait("version 1", lambda node=node: node.holds() == {1})
    fleet.serve(2)  # A candidate, which is loaded on one node.
    fleet.wait("a candidate", lambda: {2} <= one.holds() | other.holds())
    forwards = one if 2 not in one.holds() else other
    fleet.wait("a forwarded request", lambda: forwards.predict(2) == [3.0] and forwards.forwarded() > 0)


def test_a_recreated_fleet_has_another_identity(fleet):
    before = fleet.uid()
    old = fleet.nodes[0].certificate()
    fleet.cluster.kubectl("delete", "servingfleet", "cpu", "--namespace=vision")
    fleet.apply(FLEET)
    new = fleet.start_nodes()[0].certificate()
    assert before in old and before not in new
    assert fleet.uid() in new


def test_pods_trust_a_new_ca_before_the_controller_uses_it(fleet):
    old, new = fleet.authority.certificate.read_text(), Authority(fleet.folder / "pki-new")
    assert fleet.trusted_cas() == old
    fleet.mount(new)
    fleet.wait("both CAs in the ConfigMap", lambda: fleet.trusted_cas() == new.certificate.read_text() + "\n" + old)
    certificate = ssl.get_server_certificate(("localhost", fleet.port.number), ca_certs=fleet.authority.certificate)
    assert certificate, "the controller must use its certificate from the old CA at first"
