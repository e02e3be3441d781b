"""./dev bench undo: how soon a fleet has returned to the version before, and how many requests fail meanwhile.

etcd and kube-apiserver are real, and so is one node of the fleet, which answers requests all the time. One process simulates the other
nodes, as in ./dev bench control: each has a stream and reports at once that it holds what it should hold. A simulated node has given its
last old answer when it receives the change of weights. All programs share the processors.
"""

import argparse
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "cluster"), str(TESTS / "demo"), str(TESTS / "bench")]

import load
from control import ApiClient, Controller, apply_fleets, fake_nodes, logins, pods_of
from control_plane import ControlPlane
from processes import BIN, MODELS, say, wait_for
from rows import add_arguments, finish, row

READY_MAX_S = 300
PATH = "/apis/longshore.dev/v1alpha1/namespaces/default/models/half"


class Programs:
    """Starts programs for Load."""

    def start(self, _name, command, **options):
        return subprocess.Popen(command, **options)


@contextlib.contextmanager
def real_node(controller, folder, login):
    """Runs a node with the token of its pod; yields its ports."""
    fleet, name, token = login.split()
    (folder / "token").write_text(token)
    with open(folder / "node.log", "wb") as log:
        process = subprocess.Popen(
            [BIN / "longshore-node", f"--controller=localhost:{controller.port}", f"--controller_ca_file={controller.ca}",
             f"--controller_token_file={folder}/token", f"--fleet={fleet}", f"--node={name}", f"--state_dir={folder}/state",
             "--host=127.0.0.1", "--port=0", "--rest_api_port=0", "--admin_port=0", "--peer_address=127.0.0.1:0",
             f"--port_file={folder}/ports"], stdout=log, stderr=log)
    try:
        wait_for((folder / "ports").exists, "the node to listen", pause=0.1)
        yield json.loads((folder / "ports").read_text())
    finally:
        process.terminate()
        process.wait(60)


def model_of(source, version):
    return {"apiVersion": "longshore.dev/v1alpha1", "kind": "Model", "metadata": {"name": "half"},
            "spec": {"fleet": "f0", "source": {"uri": f"file://{source}"}, "version": version, "rollout": {"strategy": "Immediate"}}}


class Bench:
    def __init__(self, control_plane, options, ask, ports, source):
        self.control_plane, self.options, self.ask, self.ports, self.source = control_plane, options, ask, ports, source
        self.client = ApiClient(control_plane)

    def serve(self, version):
        self.control_plane.kubectl("apply", "-f", "-", input=json.dumps(model_of(self.source, version)))

        def serves():
            status = self.client.get(PATH).get("status", {})
            holders = [node for node in status.get("nodes", []) if f"{version}:Ready" in node["state"]]
            return status.get("stableVersion") == version and len(holders) == self.options.nodes
        wait_for(serves, f"version {version} on all nodes", READY_MAX_S, 0.2)

    def start_load(self):
        return load.Load(Programs(), "load", [
            BIN / "longshore-load", "--json", f"--grpc=127.0.0.1:{self.ports['grpc']}", "--model=half", f"--rate={self.options.rate}",
            f"--requests={self.options.requests}", "--connections=8"])

    def undo(self):
        """Returns when the command began, and how long it took."""
        began, timer = time.time(), time.monotonic()
        done = subprocess.run([BIN / "longshore", "undo", "half"], env=self.control_plane.environment(), capture_output=True, text=True,
                              check=False)
        if done.returncode != 0 or "version 1 serves all requests" not in done.stdout:
            raise SystemExit(f"bench: undo: {done.stdout}{done.stderr}")
        return began, time.monotonic() - timer

    def left(self):
        """How many simulated nodes have left version 2, and when the last one did, in seconds since 1970."""
        found = [one for one in self.ask()["left"] if (one["model"], one["version"]) == ("half", 2)]
        return (found[0]["nodes"], found[0]["last_unix_ms"] / 1000) if found else (0, 0)

    def measure(self):
        self.serve(1)
        self.serve(2)
        running = self.start_load()
        wait_for(lambda: running.progress.get("sent", 0) > 0, "requests", pause=0.1)
        time.sleep(self.options.before_s)
        began, took = self.undo()
        wait_for(lambda: self.left()[0] == self.options.nodes - 1, "all nodes to leave version 2", READY_MAX_S, 0.05)
        final = running.wait(READY_MAX_S)
        say(f"  the command took {took * 1e3:.0f} ms; {final['sent']} requests; {load.describe_failures(final)}")
        real = final["versions"]["2"]["last_answer_unix_ms"] / 1000
        name = f"undo over {self.options.nodes} nodes, {self.options.nodes - 1} of them simulated"
        return [row(f"{name}: last answer of the version that was left, s after the command began", "",
                    max(real, self.left()[1]) - began, 0, "<= 1"),
                row(f"{name}: failed of {final['sent']} requests", "", final["failed"] + final["unanswered"], 0, "<= 0")]


def measure(options):
    with tempfile.TemporaryDirectory() as folder, ControlPlane(controllers=True) as control_plane:
        folder = pathlib.Path(folder)
        source = folder / "half"
        shutil.copytree(MODELS / "half_plus_two_tf2/1", source / "1")
        shutil.copytree(MODELS / "half_plus_three_tf2/1", source / "2")
        controller = Controller(control_plane, folder, rate=2000)
        try:
            wait_for(controller.leads, "the controller leads", pause=0.1)
            client = ApiClient(control_plane)
            apply_fleets(control_plane, 1, options.nodes)
            wait_for(lambda: len(pods_of(client)) == options.nodes, "pods", READY_MAX_S, 0.5)
            logins(control_plane, pods_of(client), folder / "logins")
            first, *others = (folder / "logins").read_text().splitlines()
            (folder / "others").write_text("\n".join(others) + "\n")
            with real_node(controller, folder, first) as ports, \
                    fake_nodes(controller, folder / "others", "--beside_real_nodes") as (ask, _):
                wait_for(lambda: ask()["streams"] == options.nodes - 1, "streams", READY_MAX_S, 0.2)
                return Bench(control_plane, options, ask, ports, source).measure()
        finally:
            controller.end()


def main():
    parser = argparse.ArgumentParser(prog="./dev bench undo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--nodes", type=int, default=100, help="the real node and the simulated ones [%(default)s]")
    parser.add_argument("--requests", type=int, default=100_000, help="to the real node [%(default)s]")
    parser.add_argument("--rate", type=int, default=2_000, help="requests per second [%(default)s]")
    parser.add_argument("--before_s", type=float, default=10, help="seconds of load before the command [%(default)s]")
    options = parser.parse_args()
    return finish(measure(options), options)


if __name__ == "__main__":
    sys.exit(main())
