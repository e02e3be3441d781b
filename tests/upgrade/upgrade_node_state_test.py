"""A node of the next release reads what the previous one left on its disk, and the other way round, without any other program."""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import urllib.error
import urllib.request

from archive_host import ArchiveHost, archive_of
from harness import MARK, MODELS, Installation, wait_for

CONTENT = archive_of({1: MODELS / "half_plus_two_tf2/1"})
MODEL = """apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {{name: half}}
spec:
  fleet: cpu
  source: {{uri: "{url}", sha256: "{digest}"}}
  version: 1
"""


def flags_of_a_stopped_node(it: Installation, programs: pathlib.Path) -> list[str]:
    """Runs a fleet of one node until it serves a model from an archive; then stops controller, node and host.

    Returns the flags of the node without those that only its controller can give.
    """
    host = ArchiveHost(it.dir)
    host.files["/1.tar"] = CONTENT
    it.apply_fleet(nodes=1)
    it.write_manifest("half.yaml", MODEL.format(url=host.url("/1.tar"), digest=hashlib.sha256(CONTENT).hexdigest()))
    it.start_controller(programs=programs, env={"no_proxy": "127.0.0.1"},
                        flags=[f"--node_flag=source_ca_file={host.ca_file}", f"--node_flag=cache_dir={it.dir}/cache"])
    it.wait_for_stable("half", 1)
    it.wait_for_answers("half", {"instances": [2.0]})
    (pid,) = it.node_pids().values()
    flags = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[1:-1]
    it.kill_controller()
    os.kill(pid, signal.SIGKILL)
    host.stop()
    return [flag for flag in flags if not flag.startswith(("--grpc_listen_fd", "--rest_listen_fd", "--port_file"))]


def predict(ports: pathlib.Path) -> dict | None:
    """The answer of the node that wrote its ports into this file; None while it does not answer."""
    try:
        port = json.loads(ports.read_text())["rest"]
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/models/half:predict", data=b'{"instances": [2.0]}')
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())
    except (FileNotFoundError, ValueError, urllib.error.URLError, ConnectionError):
        return None


def serve_once(it: Installation, program: pathlib.Path, flags: list[str], stop: signal.Signals) -> None:
    """Starts the node, waits for a right answer, and stops it."""
    ports = it.dir / "ports"
    ports.unlink(missing_ok=True)
    with open(it.dir / "node.log", "ab") as log:
        node = subprocess.Popen([program, *flags, "--host=127.0.0.1", "--port=0", "--rest_api_port=0", f"--port_file={ports}"],
                                stdout=log, stderr=log, env={**os.environ, MARK: str(it.dir)})
    try:
        answer = wait_for("an answer", lambda: node.poll() is not None or predict(ports), seen=lambda: (it.dir / "node.log").read_text()[-2000:])
        assert answer == {"predictions": [3.0]}, (it.dir / "node.log").read_text()[-2000:]
    finally:
        node.send_signal(stop)
        node.wait(timeout=60)


def test_a_node_serves_from_the_disk_of_the_previous_release_and_of_the_next_one(previous: pathlib.Path, present: pathlib.Path):
    with Installation() as it:
        flags = flags_of_a_stopped_node(it, previous)
        for programs, stop in ((previous, signal.SIGTERM), (present, signal.SIGKILL), (present, signal.SIGTERM), (previous, signal.SIGTERM)):
            serve_once(it, programs / "longshore-node", flags, stop)
