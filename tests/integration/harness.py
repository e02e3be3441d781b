"""Starts the real programs in a temporary directory and observes them as a user would.

    with Installation() as it:
        it.apply_fleet(nodes=1)
        it.apply_model("half", source=HALF_PLUS_TWO, version=1)
        it.wait_for_stable("half", 1)
        assert it.predict("half", {"instances": [2.0]}) == {"predictions": [3.0]}

Needs only the standard library. The programs are those in LONGSHORE_BIN; default: build/dev/bin.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
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
MARK = "LONGSHORE_INSTALLATION"  # An environment variable of all processes of an installation: its directory.


class Timeout(AssertionError):
    pass


def wait_for(what, condition, timeout_s=WAIT_MAX_S, seen=lambda: ""):
    """Returns the first true result of `condition`. After timeout_s, raises an error with `what` and the result of `seen`."""
    end = time.monotonic() + timeout_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Timeout(f"waited {timeout_s} s for {what} {seen()}".rstrip())
        time.sleep(0.02)


def processes_marked(directory):
    """Returns pid -> command line of all processes that were started, directly or indirectly, for this directory."""
    found = {}
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"{MARK}={directory}\0".encode() in (process / "environ").read_bytes():
                found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # The process has ended, or it belongs to another user.
            pass
    return found


def read_images(path):
    """Reads little-endian float32 values. Returns a list of images, each 8 x 8 x 1."""
    floats = struct.unpack(f"<{path.stat().st_size // 4}f", path.read_bytes())
    return [[[[floats[at + 8 * row + column]] for column in range(8)] for row in range(8)]
            for at in range(0, len(floats), 64)]


def needed_bytes(source, version):
    """The memory that a node expects the version to need."""
    return sum(file.stat().st_size for file in (source / str(version)).rglob("*") if file.is_file()) * 12 // 10


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

    def start_controller(self, env=None, flags=(), programs=None):
        """`programs`: a folder with the programs of another release, for the controller and the nodes that it starts."""
        self.started += 1
        node_binary = programs / "longshore-node" if programs else self.node_binary
        with open(self.dir / "controller.log", "ab") as log:
            self.controller = subprocess.Popen(
                [(programs or BIN) / "longshore-controller", f"--state_dir={self.state}", f"--manifests={self.manifests}",
                 f"--node_binary={node_binary}", "--admin_port=0", f"--port_file={self.dir / 'admin.json'}",
                 *([] if programs else ["--console_port=0"]), *flags],
                stdout=log, stderr=log, env={**os.environ, MARK: str(self.dir), **(env or {})})
        return self.controller

    def console_url(self):
        wait_for("the controller's ports", (self.dir / "admin.json").exists)
        return f"http://127.0.0.1:{json.loads((self.dir / 'admin.json').read_text())['console']}"

    def limit_first_node(self, model_memory_bytes):
        """The first node that starts gets this memory limit. Call it before the controller is started."""
        real, self.node_binary = self.node_binary, self.dir / "node"
        self.node_binary.write_text(f"""#!/bin/sh
if mkdir {shlex.quote(str(self.dir / "limited"))} 2>/dev/null; then
  set -- "$@" --model_memory_bytes_max={model_memory_bytes}
fi
exec {shlex.quote(str(real))} "$@"
""")
        self.node_binary.chmod(0o755)

    def kill_controller(self):
        if self.controller is not None and self.controller.poll() is None:
            self.controller.send_signal(signal.SIGKILL)
        if self.controller is not None:
            self.controller.wait()
        self.controller = None

    def stop_fleets(self):
        if not (self.state / "controller.lock").exists():
            return  # No controller has run.
        subprocess.run([BIN / "longshore-controller", f"--state_dir={self.state}", "--stop-fleets"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=150)

    def command(self, *words, programs=BIN):
        """Runs the command `longshore` as a user would."""
        return subprocess.run([programs / "longshore", *words, f"--manifests={self.manifests}"], capture_output=True, text=True,
                              timeout=60, check=False)

    def assert_all_ended(self):
        """Fails if a process of this installation is still running. Kills it first, so that it affects only this test."""
        left = processes_marked(self.dir)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        if left:
            raise AssertionError(f"processes still running: {left}")

    # Manifests.

    def write_manifest(self, name, text):
        temporary = self.manifests / f".{name}.tmp"
        temporary.write_text(text)
        temporary.rename(self.manifests / name)

    def apply_fleet(self, nodes=1, grpc=0, rest=0, connection_age_max="2s"):
        self.write_manifest("fleet.yaml", f"""apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {{name: cpu}}
spec:
  replicas: {{min: {nodes}, max: {max(nodes, 1)}}}
  ports: {{grpc: {grpc}, rest: {rest}}}
  connectionAgeMax: {connection_age_max}
""")

    def apply_model(self, name, source, version, rollout=None, extra=""):
        rollout = rollout or {"hold": "100ms", "requestsMin": 20, "steps": [{"weight": 50, "proof": "Sampled"}], "keepWarm": "100ms"}
        self.write_manifest(f"{name}.yaml", f"""apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {{name: {name}}}
spec:
  fleet: cpu
  source: {{uri: "file://{source}"}}
  {f"version: {version}" if version else "versionPolicy: Latest"}
  rollout: {json.dumps(rollout)}
{extra}""")

    # Objects and processes.

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
        """Returns the ids of the processes in which nodes currently rehearse a version."""
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

        wait_for(f"{name} to serve only version {version}", serves, seen=lambda: self.status(name))

    def wait_for_ready_nodes(self, count):
        wait_for(f"{count} ready nodes", lambda: self.fleet_status().get("readyReplicas") == count)

    def wait_for_answers(self, model, body):
        """Waits until every node answers: the status is written before the nodes receive the new version.

        After a restart it also names the nodes before it until the controller has written it again.
        """

        def answers():
            try:
                return self.ask_each_node(f"{model}:predict", body, times=1)
            except urllib.error.URLError:
                return False

        wait_for(f"{model} to answer", answers)

    # Requests.

    def predict(self, model, body, timeout_s=10, version=None):
        return self.ask(f"{model}/versions/{version}:predict" if version else f"{model}:predict", body, timeout_s)[0]

    def ask(self, path, body=None, timeout_s=10):
        """Returns the answer of one node and the name of that node. Sends a GET if body is None, and a POST otherwise."""
        address = self.fleet_status()["restAddress"]
        request = urllib.request.Request(f"http://{address}/v1/models/{path}", data=body and json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            return json.loads(response.read()), response.headers["x-longshore-node"]

    def ask_each_node(self, path, body=None, times=10):
        """Returns node -> its distinct answers, after each node has answered `times` times.

        The nodes share one listening socket, so this repeats the request until each node has received enough. It asks several times at
        once, because otherwise the same node may accept nearly every connection."""
        answers = {name: [] for name in self.node_pids()}
        at_once = 4 * len(answers)

        def all_answered():
            for answer, node in askers.map(lambda _: self.ask(path, body), range(at_once)):
                answers.setdefault(node, []).append(answer)
            return all(len(of_node) >= times for of_node in answers.values())

        with concurrent.futures.ThreadPoolExecutor(at_once) as askers:
            wait_for(f"each of {sorted(answers)} to answer {path} {times} times", all_answered)
        return {node: sorted({json.dumps(answer) for answer in of_node}) for node, of_node in answers.items()}
