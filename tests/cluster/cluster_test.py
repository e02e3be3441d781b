"""Tests of cluster.py: a pod runs and can be reached by address and name, and nothing is left after the cluster."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cluster import Cluster, cgroups_of
from image_archive import write_image
from program import Failure, find_binaries, wait_for

BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", HERE.parents[1] / "build/dev/bin")).resolve()
IMAGE = "longshore.test/hello:1"
# As restricted as Longshore's pods: a non-root user, a read-only root, limits, and a token for one audience.
HELLO = """apiVersion: v1
kind: Pod
metadata: {name: hello, labels: {app: hello}}
spec:
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: hello
    image: longshore.test/hello:1
    imagePullPolicy: Never
    readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
    resources: {limits: {cpu: 100m, memory: 64Mi}}
    securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: token, mountPath: /token}]
  volumes:
  - name: token
    projected: {sources: [{serviceAccountToken: {audience: longshore-controller, expirationSeconds: 3600, path: token}}]}
---
apiVersion: v1
kind: Service
metadata: {name: hello}
spec:
  selector: {app: hello}
  ports: [{port: 80, targetPort: 8080}]
"""
# A pod like that of a node. It writes lines when it starts, and its probe fails, so it is restarted again and again.
NODE = """apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {name: cpu}
spec: {replicas: {min: 1}}
---
apiVersion: v1
kind: Pod
metadata: {name: cpu-abcde}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: node
    image: longshore.test/hello:1
    imagePullPolicy: Never
    env: [{name: GODEBUG, value: inittrace=1}]
    livenessProbe: {tcpSocket: {port: 9}, initialDelaySeconds: 5, periodSeconds: 1, failureThreshold: 1}
"""
FETCH = """import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=2).read().decode())"""

TEST = """import pathlib, signal, sys
from cluster import Cluster
with Cluster(pathlib.Path(sys.argv[1])):
    print("up", flush=True)
    signal.pause()
"""


def processes_in(network):
    """The command lines of the processes in this network namespace."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # The process has ended.
            if os.readlink(process / "ns/net") == network:
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


def leftovers(folder, network):
    mounts = [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if str(folder) in line]
    return processes_in(network) + cgroups_of(folder)[1] + mounts + ([folder] if folder.exists() else [])


def machine_settings():
    """The settings that kubelet or kube-proxy would change for the whole machine."""
    files = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward",
             "net/netfilter/nf_conntrack_max", "net/bridge/bridge-nf-call-iptables")
    return {file: path.read_text() for file in files if (path := pathlib.Path("/proc/sys") / file).exists()}


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster())
        with tempfile.TemporaryDirectory() as folder:
            cls.cluster.load(write_image(pathlib.Path(folder) / "hello.tar", IMAGE, {"hello": find_binaries("hello") / "hello"},
                                         ["/hello"]))

    def test_a_pod_becomes_ready_and_its_service_answers_by_address_and_name(self):
        self.cluster.kubectl("apply", "-f", "-", input=HELLO)
        self.cluster.kubectl("wait", "--for=condition=Ready", "--timeout=60s", "pod/hello")
        address = self.cluster.kubectl("get", "service", "hello", "-o", "jsonpath={.spec.clusterIP}")
        for name in (address, "hello", "hello.default.svc.cluster.local"):
            with self.subTest(name):
                wait_for(f"an answer from {name}", lambda name=name: self.fetch(f"http://{name}") == "hello from hello", 20)
        self.assertIn("audience", self.cluster.kubectl("get", "pod", "hello", "-o", "yaml"))
        self.assertEqual(self.cluster.kubectl("logs", "hello"), "")

    def test_longshore_prints_follows_and_finds_again_the_log_of_a_node(self):
        self.cluster.kubectl("apply", "--server-side", "-f", str(HERE.parents[1] / "crds"))
        self.cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/servingfleets.longshore.dev")
        self.cluster.kubectl("apply", "-f", "-", input=NODE)
        self.cluster.kubectl("patch", "servingfleet", "cpu", "--subresource=status", "--type=merge", "-p", json.dumps(
            {"status": {"nodes": [{"name": "cpu-abcde", "pid": 0, "state": "Ready", "adminAddress": ""}]}}))
        wait_for("the log of the node", lambda: "init runtime" in self.longshore("logs", "cpu-abcde"), 60)
        self.assertEqual(len(self.longshore("logs", "cpu-abcde", "--tail=1").splitlines()), 1)
        self.assertRegex(self.longshore("logs", "fleet/cpu", "--tail=-1"), r"(?m)^\[cpu-abcde\] init runtime")
        self.assertIn("init runtime", self.longshore("logs", "cpu-abcde", "--follow"))  # The probe ends the container.
        wait_for("the log before the restart", lambda: "init runtime" in self.longshore("logs", "cpu-abcde", "-p"), 60)

    def longshore(self, *words):
        return self.cluster.run_inside([BIN / "longshore", *words], capture_output=True, text=True, timeout=120,
                                       check=False).stdout

    def fetch(self, url):
        return self.cluster.run_inside([sys.executable, "-c", FETCH, url], capture_output=True, text=True, timeout=10,
                                       check=False).stdout.strip()

    def test_no_route_leads_out_of_the_cluster(self):
        routes = self.cluster.run_inside(["ip", "route"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("default", routes)
        self.assertNotIn("via", routes)

    def test_the_node_can_report_gpus_that_do_not_exist(self):
        self.cluster.set_gpus(4)
        node = json.loads(self.cluster.kubectl("get", "node", "node", "-o", "json"))
        self.assertEqual(node["status"]["allocatable"]["nvidia.com/gpu"], "4")

    def test_a_file_that_is_not_an_image_is_rejected(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"not an image")
            file.flush()
            with self.assertRaisesRegex(Failure, "not an image archive"):
                self.cluster.load(file.name)

    def test_no_program_of_the_cluster_has_ended(self):
        self.assertEqual(self.cluster.ended(), "")


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve() / "cluster"
        self.addCleanup(self.command, "down")

    def command(self, *words):
        return subprocess.run([sys.executable, HERE / "cluster.py", "--folder", self.folder, *words], capture_output=True,
                              text=True, check=False, timeout=200)

    def network(self):
        return os.readlink(f"/proc/{Cluster(self.folder).pid()}/ns/net")

    def test_starts_and_stops_and_leaves_nothing(self):
        settings = machine_settings()
        first = self.command("up")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("kubectl get pods", first.stdout)
        self.assertIn("already up", self.command("up").stdout)
        self.assertIn("Ready", self.command("status").stdout)
        self.assertEqual(self.command("exec", "sh", "-c", "exit 7").returncode, 7)
        network = self.network()
        self.assertGreater(len(processes_in(network)), 8)
        self.assertEqual(self.command("down").returncode, 0)
        self.assertEqual(leftovers(self.folder, network), [])
        self.assertEqual(machine_settings(), settings)

    def test_the_cluster_ends_when_up_is_killed(self):
        up = subprocess.Popen([sys.executable, HERE / "cluster.py", "--folder", self.folder, "up"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("the API server to run", (self.folder / "apiserver-0.pid").exists, 60)
        network = self.network()
        up.send_signal(signal.SIGKILL)
        up.wait()
        wait_for("the cluster to be removed", lambda: not leftovers(self.folder, network), 60)

    def test_the_cluster_ends_when_its_test_is_killed(self):
        test = subprocess.Popen([sys.executable, "-c", TEST, self.folder], cwd=HERE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(test.stdout.close)
        self.assertEqual(test.stdout.readline(), "up\n")
        network = self.network()
        test.send_signal(signal.SIGKILL)
        test.wait()
        wait_for("the cluster to be removed", lambda: not leftovers(self.folder, network), 60)

    def test_commands_report_that_the_cluster_is_not_up(self):
        for words, status, text in ((["down"], 0, "not up"), (["status"], 1, "not up"), (["load", "x.tar"], 1, "cluster up"),
                                    (["exec", "true"], 1, "cluster up"), (["gpus", "many"], 1, "cluster up")):
            with self.subTest(words):
                done = self.command(*words)
                self.assertEqual(done.returncode, status)
                self.assertIn(text, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
