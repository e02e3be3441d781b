"""./dev bench serving: longshore-node beside bare servers of the same messages, in one run on one machine.

Server and client have a processor each. The two sides of a row take turns; a figure is the median of its rounds.
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build/release/bin"
MODEL = ROOT / "tests/models/half_plus_two_tf2"
SERVER_CPU, CLIENT_CPU = "0", "1"
ROUNDS = 5


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def server(*command):
    """A process on the server's processor; it must end by itself when it is told to."""
    process = subprocess.Popen(["taskset", "-c", SERVER_CPU, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


@contextlib.contextmanager
def echo(kind: str):
    """The port of a bare server."""
    with server(BIN / "longshore-bench", "echo", f"--kind={kind}") as process:
        yield json.loads(process.stdout.readline())["port"]


def wait_for_json(path: pathlib.Path) -> dict:
    while not path.exists():
        time.sleep(0.001)
    return json.loads(path.read_text())


def is_ready(admin_port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{admin_port}/readyz", timeout=10):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def node(*flags):
    """Ports of a node that is ready, and the seconds until it was."""
    with tempfile.TemporaryDirectory() as folder:
        ports = pathlib.Path(folder) / "ports.json"
        begin = time.monotonic()
        with server(BIN / "longshore-node", f"--model_base_path={MODEL}", "--port=0", "--rest_api_port=0", "--admin_port=0",
                    f"--port_file={ports}", *flags):
            known = wait_for_json(ports)
            while not is_ready(known["admin"]):
                time.sleep(0.001)
            yield known | {"seconds": time.monotonic() - begin}


def client(*command) -> dict:
    done = subprocess.run(["taskset", "-c", CLIENT_CPU, *map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, command))} failed:\n{done.stdout[-500:]}{done.stderr[-500:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def throughput(protocol: str, port: int) -> float:
    return client(BIN / "longshore-bench", "throughput", f"--{protocol}=127.0.0.1:{port}")["per_second"]


def p99_ms(port: int, rate: float) -> float:
    answer = client(BIN / "longshore-load", f"--grpc=127.0.0.1:{port}", f"--rate={rate:.0f}", "--duration_s=4", "--connections=4")
    return answer["p99_ms"]


def row(what: str, peer: str, ours: float, theirs: float, goal: str, ratio: float | None = None) -> dict:
    """`goal`: ">= 0.85" or "<= 300", of the ratio; of ours where there is no peer."""
    value = ratio if ratio is not None else ours / theirs if theirs else ours
    sign, limit = goal.split()
    met = value >= float(limit) if sign == ">=" else value <= float(limit)
    made = {"what": what, "peer": peer, "ours": ours, "theirs": theirs, "ratio": value, "goal": goal, "met": met}
    say(f"  {what}: {ours:.4g} against {theirs:.4g} of {peer}: {value:.3f}, goal {goal}: {'met' if met else 'MISSED'}")
    return made


def in_turns(measures: dict, rounds: int = ROUNDS) -> dict:
    """The median of each measure, all of them taken once in every round."""
    taken = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            taken[name].append(measure())
    return {name: statistics.median(values) for name, values in taken.items()}


def grpc_rows():
    say("gRPC Predict of a tiny model")
    with node() as ports, echo("grpc-callback") as callback, echo("grpc-queue") as queue:
        per_second = in_turns({"ours": lambda: throughput("grpc", ports["grpc"]),
                               "callback": lambda: throughput("grpc", callback), "queue": lambda: throughput("grpc", queue)})
        better = max(("callback", "queue"), key=per_second.get)
        peer = f"bare gRPC echo ({better})"
        yield row("gRPC Predict, answers per second", peer, per_second["ours"], per_second[better], ">= 0.85")
        rate = per_second["ours"] / 2
        port = callback if better == "callback" else queue
        p99 = in_turns({"ours": lambda: p99_ms(ports["grpc"], rate), "theirs": lambda: p99_ms(port, rate)})
        yield row(f"gRPC Predict, p99 in ms at {rate:.0f}/s", peer, p99["ours"], p99["theirs"], "<= 1.3")


def rest_rows():
    say("REST predict of a tiny model")
    with node() as ports, echo("rest") as port:
        per_second = in_turns({"ours": lambda: throughput("rest", ports["rest"]), "theirs": lambda: throughput("rest", port)})
        yield row("REST predict, answers per second", "bare Beast echo", per_second["ours"], per_second["theirs"], ">= 0.75")


def json_rows():
    say("JSON body of 1x224x224x3 floats")
    measured = client(BIN / "longshore-bench", "json")
    for digits, millions in sorted(measured["millions_per_second"].items()):
        yield row(f"JSON to tensor, million floats per second, {digits} digits", "", millions, 0, ">= 50")


def start_rows():
    say("start")

    def start() -> float:
        with node() as ports:
            return ports["seconds"] * 1000
    yield row("start to ready, ms", "", in_turns({"start": start})["start"], 0, "<= 300")


GROUPS = {"grpc": grpc_rows, "rest": rest_rows, "json": json_rows, "start": start_rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    parser.add_argument("--only", choices=GROUPS, action="append", help="these rows; may be given more than once")
    arguments = parser.parse_args()
    rows = [made for name in arguments.only or GROUPS for made in GROUPS[name]()]
    if arguments.json:
        print(json.dumps({"rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
