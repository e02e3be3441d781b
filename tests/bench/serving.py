"""./dev bench serving: compares longshore-node with bare servers of the same messages, and with itself undisturbed, in one run on
one machine.

Servers run on one processor and clients on another. The two sides of a row take turns; the ratio is the median of the ratios of all
rounds. docs/performance.md has the details.
"""

import argparse
import sys

import life
import oip_peers
import overload
import scale
import speed
from rows import QUICK_ROUNDS, ROUNDS, add_arguments, finish

GROUPS = {"grpc": speed.grpc_rows, "rest": speed.rest_rows, "accepts": speed.accept_rows, "json": speed.json_rows, "start": speed.start_rows,
          "neighbour": life.neighbour_rows, "overload": overload.overload_rows, "transfer": scale.transfer_rows, "models": scale.model_rows,
          "processors": scale.processor_rows, "peers": oip_peers.peer_rows}
# Groups that repeat one action: their rows, and how often they do it; the second number is for --quick.
REPEATED = {"swaps": (life.swap_rows, 1000, 100), "reloads": (life.reload_rows, 1000, 100), "restarts": (life.restart_rows, 1000, 60)}
NAMES = ("grpc", "rest", "accepts", "json", "start", "swaps", "reloads", "restarts", "neighbour", "overload",
         "transfer", "models", "processors", "peers")  # In the order of the table.


def rows_of(name: str, quick: bool, repeats: int | None):
    if name in GROUPS:
        return GROUPS[name](quick)
    rows, often, often_if_quick = REPEATED[name]
    return rows(repeats or (often_if_quick if quick else often))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench serving", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--quick", action="store_true",
                        help=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}, fewer swaps and restarts: ten minutes")
    parser.add_argument("--repeats", type=int, metavar="N", help="N swaps, reloads or restarts")
    parser.add_argument("--only", choices=NAMES, action="append", help="measure only these rows; may be given more than once")
    arguments = parser.parse_args()
    rows = [made for name in arguments.only or NAMES for made in rows_of(name, arguments.quick, arguments.repeats)]
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
