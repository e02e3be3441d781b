"""Starts the real programs in a directory of its own and looks at them as a user would.

    with Installation() as it:
        it.apply_fleet(nodes=1)
        it.apply_model("half", source=HALF_PLUS_TWO, version=1)
        it.wait_for_stable("half", 1)
        assert it.predict("half", {"instances": [2.0]}) == {"predictions": [3.0]}

Only the standard library is needed. Programs are taken from LONGSHORE_BIN, or from build/dev/bin.
"""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", ROOT / "build/dev/bin"))
MODELS = ROOT / "tests/models"
WAIT_MAX_S = 40
MARK = "LONGSHORE_INSTALLATION"  # In the environment of every process of an installation: its directory.


class Timeout(AssertionError):
    pass


def wait_for(what, condition, timeout_s=WAIT_MAX_S, seen=lambda: ""):
    """The first true answer of `condition`; fails with what was waited for and what is seen instead."""
    end = time.monotonic() + timeout_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Timeout(f"waited {timeout_s} s for {what} {seen()}".rstrip())
        time.sleep(0.02)


def processes_marked(directory):
    """pid -> command line of the processes that were started, by whomever, for this directory."""
    found = {}
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"{MARK}={directory}\0".encode() in (process / "environ").read_bytes():
                found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # It ended meanwhile, or it is somebody else's.
            pass
    return found


def read_images(path):
    """Little-endian floats, 8 x 8 x 1 per image."""
    floats = struct.unpack(f"<{path.stat().st_size // 4}f", path.read_bytes())
    return [[[[floats[at + 8 * row + column]] for column in range(8)] for row in range(8)]
            for at in range(0, len(floats), 64)]


class Installation:
    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ls_"))
        self.state = self.dir / "state"
        self.manifests = self.dir / "manifests"
        self.manifests.mkdir()
        self.node_binary = BIN / "longshore-node"
        self.controller = None
        self.started = 0

    def __enter__(self):
        return self

    def __exit__(self, *_failure):
        try:
            self.kill_controller()
            self.stop_fleets()
            self.assert_all_ended()
        finally:
            if os.environ.get("LONGSHORE_KEEP"):
                print("kept:", self.dir)
            else:
                shutil.rmtree(self.dir, ignore_errors=True)

    # The controller.

    def start_controller(self, env=None, flags=()):
        self.started += 1
        with open(self.dir / "controller.log", "ab") as log:
            self.controller = subprocess.Popen(
                [BIN / "longshore-controller", f"--state_dir={self.state}", f"--manifests={self.manifests}",
                 f"--node_binary={self.node_binary}", "--admin_port=0", f"--port_file={self.dir / 'admin.json'}",
                 *flags],
                stdout=log, stderr=log, env={**os.environ, MARK: str(self.dir), **(env or {})})
        return self.controller

    def kill_controller(self):
        if self.controller is not None and self.controller.poll() is None:
            self.controller.send_signal(signal.SIGKILL)
        if self.controller is not None:
            self.controller.wait()
        self.controller = None

    def stop_fleets(self):
        subprocess.run([BIN / "longshore-controller", f"--state_dir={self.state}", "--stop-fleets"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=150)

    def command(self, *words):
        """The command line, as a person would use it."""
        return subprocess.run([BIN / "longshore", *words, f"--manifests={self.manifests}"], capture_output=True, text=True,
                              timeout=60, check=False)

    def assert_all_ended(self):
        """No process of this installation is left, whoever started it; one that is gets killed, so that it spoils one test."""
        left = processes_marked(self.dir)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        if left:
            raise AssertionError(f"left running: {left}")

    # Manifests.

    def write_manifest(self, name, text):
        temporary = self.manifests / f".{name}.tmp"
        temporary.write_text(text)
        temporary.rename(self.manifests / name)

    def apply_fleet(self, nodes=1, grpc=0, rest=0):
        self.write_manifest("fleet.yaml", f"""apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {{name: cpu}}
spec:
  replicas: {{min: {nodes}, max: {max(nodes, 1)}}}
  ports: {{grpc: {grpc}, rest: {rest}}}
  connectionAgeMax: 2s
""")

    def apply_model(self, name, source, version, rollout=None, extra=""):
        rollout = rollout or {"hold": "100ms", "requestsMin": 20, "steps": [{"weight": 50}]}
        self.write_manifest(f"{name}.yaml", f"""apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {{name: {name}}}
spec:
  fleet: cpu
  source: {{uri: "file://{source}"}}
  {f"version: {version}" if version else "versionPolicy: Latest"}
  rollout: {json.dumps(rollout)}
{extra}""")

    # What is there.

    def object(self, kind, name):
        path = self.manifests / ".longshore/objects" / kind / "default" / f"{name}.json"
        try:
            return json.loads(path.read_text())
        except FileNotFoundError:
            return {}

    def status(self, name, kind="Model"):
        return self.object(kind, name).get("status") or {}

    def fleet_status(self):
        return self.status("cpu", "ServingFleet")

    def condition(self, kind, name, type_):
        for condition in self.status(name, kind).get("conditions", []):
            if condition["type"] == type_:
                return condition
        return {}

    def node_pids(self):
        return {node["name"]: node["pid"] for node in self.fleet_status().get("nodes", [])}

    def rehearsal_pids(self):
        """The ids of the processes in which nodes rehearse a version now."""
        pids = []
        for node in self.node_pids().values():
            listing = subprocess.run(["ps", "--ppid", str(node), "-o", "pid=,args="], capture_output=True, text=True)
            pids += [int(line.split()[0]) for line in listing.stdout.splitlines() if line.split()[2:3] == ["rehearse"]]
        return pids

    def phase(self, name):
        return self.status(name).get("rollout", {}).get("phase")

    def wait_for_stable(self, name, version):
        def serves():
            status = self.status(name)
            rollout = status.get("rollout", {})
            if rollout.get("phase") == "RolledBack" and rollout.get("candidate") == version:
                raise AssertionError(f"{name} version {version} was rolled back: {status['failed']}")
            return status.get("stableVersion") == version and self.condition("Model", name, "Ready").get("status") == "True"

        wait_for(f"{name} to serve version {version} alone", serves, seen=lambda: self.status(name))

    def wait_for_ready_nodes(self, count):
        wait_for(f"{count} ready nodes", lambda: self.fleet_status().get("readyReplicas") == count)

    def wait_for_answers(self, model, body):
        """The status is written before the nodes hear of a promotion: until every node answers."""

        def answers():
            try:
                return self.ask_each_node(f"{model}:predict", body, times=1)
            except urllib.error.HTTPError:
                return False

        wait_for(f"{model} to answer", answers)

    # Requests.

    def predict(self, model, body, timeout_s=10, version=None):
        return self.ask(f"{model}/versions/{version}:predict" if version else f"{model}:predict", body, timeout_s)[0]

    def ask(self, path, body=None, timeout_s=10):
        """The answer of one node, and that node's name. Without a body it is a GET."""
        address = self.fleet_status()["restAddress"]
        request = urllib.request.Request(f"http://{address}/v1/models/{path}", data=body and json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            return json.loads(response.read()), response.headers["x-longshore-node"]

    def ask_each_node(self, path, body=None, times=10):
        """Node -> its different answers, after each node was asked so often: they share one listening socket."""
        answers = {name: [] for name in self.node_pids()}

        def asked():
            answer, node = self.ask(path, body)
            answers.setdefault(node, []).append(answer)
            return all(len(given) >= times for given in answers.values())

        wait_for(f"each of {sorted(answers)} to answer {path} {times} times", asked)
        return {node: sorted({json.dumps(answer) for answer in given}) for node, given in answers.items()}
