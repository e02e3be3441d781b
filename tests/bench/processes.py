"""The processes of a benchmark: nodes, bare servers and clients. Servers run on one processor and clients on another."""

import contextlib
import http.client
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", ROOT / "build/release/bin"))
MODELS = ROOT / "tests/models"
SERVER_CPU, CLIENT_CPU, BOTH_CPUS = "0", "1", "0,1"
WAIT_SECONDS = 60


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def wait_for(observe, what: str, seconds: float = WAIT_SECONDS, pause: float = 0.001):
    """Returns the first true result of `observe`. Exits with a message after `seconds`."""
    end = time.monotonic() + seconds
    while not (seen := observe()):
        if time.monotonic() > end:
            raise SystemExit(f"bench: waited {seconds:.0f} s for {what}")
        time.sleep(pause)
    return seen


@contextlib.contextmanager
def server(*command, log=subprocess.DEVNULL, cpus: str = SERVER_CPU, environment: dict[str, str] | None = None):
    """Runs a process on these processors, by default on that of the servers. It must exit on SIGTERM."""
    process = subprocess.Popen(["taskset", "-c", cpus, *map(str, command)], stdout=subprocess.PIPE, stderr=log, text=True,
                               env={**os.environ, **(environment or {})})
    try:
        yield process
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)


class Echo:
    """A bare server that listens on `port`."""

    def __init__(self, process: subprocess.Popen):
        self.process, self.port = process, json.loads(process.stdout.readline())["port"]


@contextlib.contextmanager
def echo(kind: str, answer_floats: int = 0):
    """Runs a bare server; see `longshore-bench echo --help`."""
    with server(BIN / "longshore-bench", "echo", f"--kind={kind}", f"--answer_floats={answer_floats}") as process:
        yield Echo(process)


def get(port: int, path: str) -> tuple[int, str]:
    """Returns the HTTP status and the body; status 0 if the server does not answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


class Node:
    """A ready node. `seconds`: the time from its start until it was ready."""

    def __init__(self, process: subprocess.Popen, ports: dict[str, int], seconds: float):
        self.process, self.seconds = process, seconds
        self.grpc, self.rest, self.admin = ports["grpc"], ports["rest"], ports["admin"]

    def available(self, model: str) -> list[int]:
        status, body = get(self.rest, f"/v1/models/{model}")
        versions = json.loads(body)["model_version_status"] if status == 200 else []
        return sorted(int(one["version"]) for one in versions if one["state"] == "AVAILABLE")

    def resident_bytes(self) -> int:
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) * 1024


@contextlib.contextmanager
def node(*flags, model: pathlib.Path = MODELS / "half_plus_two_tf2", cpus: str = SERVER_CPU):
    with tempfile.TemporaryDirectory() as folder:
        ports, log = pathlib.Path(folder) / "ports.json", pathlib.Path(folder) / "log"
        what = [] if any(str(flag).startswith("--model_config_file=") for flag in flags) else [f"--model_base_path={model}"]
        where = ["--port=0", "--rest_api_port=0", "--admin_port=0"]
        begin = time.monotonic()
        with open(log, "wb") as errors, server(BIN / "longshore-node", *what, *where, f"--port_file={ports}", *flags,
                                               log=errors, cpus=cpus) as process:
            def listens():
                if process.poll() is not None:
                    raise SystemExit(f"bench: the node exited: {log.read_text()[-500:]}")
                return ports.exists()
            wait_for(listens, "the ports of a node")
            known = json.loads(ports.read_text())
            wait_for(lambda: get(known["admin"], "/readyz")[0] == 200, "a ready node")
            yield Node(process, known, time.monotonic() - begin)


def client(*command, statuses=(0,), cpus: str = CLIENT_CPU) -> dict:
    """Runs a client on these processors, by default on that of the clients. Returns the JSON object in its last line of output.

    Exits with a message if the client's exit status is not one of `statuses`.
    """
    done = subprocess.run(["taskset", "-c", cpus, *map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        raise SystemExit(f"bench: {' '.join(map(str, command))} failed:\n{done.stdout[-500:]}{done.stderr[-500:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


class Traffic:
    """A longshore-load that runs in the background."""

    def __init__(self, *flags):
        self.process = subprocess.Popen(["taskset", "-c", CLIENT_CPU, BIN / "longshore-load", "--json", *map(str, flags)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put({"type": "end"})

    def send(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def read(self, kind: str) -> dict:
        """Returns the next line of this type."""
        while (line := self.lines.get(timeout=WAIT_SECONDS))["type"] != kind:
            if line["type"] == "end":
                raise SystemExit("bench: longshore-load exited")
        return line

    def segment(self, name: str) -> dict:
        """Returns the measurements of the named segment, which a later mark has ended."""
        while (measured := self.read("segment"))["name"] != name:
            pass
        return measured

    def stop(self) -> dict:
        self.send("stop")
        return self.read("final")


@contextlib.contextmanager
def traffic(*flags):
    made = Traffic(*flags)
    try:
        yield made
    finally:
        made.process.stdin.close()
        made.process.terminate()
        made.process.wait(WAIT_SECONDS)
