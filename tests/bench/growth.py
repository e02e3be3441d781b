"""./dev bench growth: how soon new nodes have work when a fleet of one host grows from one node to four.

Clients keep their connections, of gRPC (grpcio) or REST. The peer is release 0.1.0, whose clients come to new nodes only when their
connections reach `connectionAgeMax`, 30 s. A figure is counted from the time at which all four nodes are ready.
"""

import argparse
import pathlib
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "integration"), str(TESTS / "bench")]

from harness import Installation
from kept_connections import NODES, GrpcClient, Load, RestClient, grow, serve_on_one_node
from processes import say
from rows import add_arguments, failed, finish, row

AGE_MAX = "30s"
WORK_MAX_S = 45  # Longer than the age.
PEER = "release 0.1.0 with connectionAgeMax 30s"


def wait(condition):
    """Returns whether the condition held in time."""
    end = time.monotonic() + WORK_MAX_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def measure(kind, connections, programs=None):
    """Returns figures: seconds until each node had work, and until each had half of the mean; p99 in ms; failed requests."""
    figures = {"work_s": None, "balanced_s": None}
    with Installation() as installation:
        serve_on_one_node(installation, AGE_MAX, programs)
        with Load(kind, installation, connections) as load:
            wait(lambda: len(load.answers) > 50 * connections)
            before = load.p99_ms(0, float("inf"))
            grown_at = grow(installation, AGE_MAX)
            nodes = min(NODES, connections)
            if wait(lambda: len(load.first_answers(grown_at)) >= nodes):
                figures["work_s"] = sorted(load.first_answers(grown_at).values())[nodes - 1]
            if connections >= NODES and wait(load.is_balanced):
                figures["balanced_s"] = time.monotonic() - grown_at
            ended = time.monotonic()
        figures |= {"failed": len(load.errors), "p99_before_ms": before, "p99_ms": load.p99_ms(grown_at, ended)}
    say(f"  {kind.NAME}, {connections} connections{', ' + PEER if programs else ''}: {figures}")
    return figures


def rows_of(kind, connections, before):
    ours = measure(kind, connections)
    theirs = measure(kind, connections, before) if before else {}
    name = f"1 to {NODES} nodes, {connections} connections of {kind.NAME}"
    made = [row(f"{name}: failed requests", "", ours["failed"], 0, "<= 0")]
    for key, text, goal in (("work_s", "s until as many nodes as possible have work", "<= 3"),
                            ("balanced_s", "s until each node has half of the mean", "<= 10")):
        if key == "balanced_s" and connections < NODES:
            continue
        what = f"{name}: {text}"
        made.append(failed(what, "", goal) if ours[key] is None else row(what, "", ours[key], 0, goal))
        if ours[key] is not None and theirs.get(key):
            made.append(row(what, PEER, ours[key], theirs[key], "<= 0.5"))
    return made


def main():
    parser = argparse.ArgumentParser(prog="./dev bench growth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--before", type=pathlib.Path, help="the folder with the programs of release 0.1.0, such as "
                        "~/.cache/longshore/releases/0.1.0-*/bin after ./dev upgrade; without this flag, the rows have no peer")
    options = parser.parse_args()
    rows = []
    for kind in (GrpcClient, RestClient):
        for connections in (2, 4, 16):
            rows += rows_of(kind, connections, options.before)
    return finish(rows, options)


if __name__ == "__main__":
    sys.exit(main())
