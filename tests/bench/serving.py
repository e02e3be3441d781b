"""./dev bench serving: compares longshore-node with bare servers of the same messages, and with itself undisturbed, in one run on
one machine.

Servers run on one processor and clients on another. The two sides of a row take turns; the ratio is the median of the ratios of all
rounds. docs/performance.md has the details.
"""

import argparse
import sys

import life
import speed
from rows import QUICK_ROUNDS, ROUNDS, add_arguments, finish

GROUPS = {"grpc": speed.grpc_rows, "rest": speed.rest_rows, "json": speed.json_rows, "start": speed.start_rows,
          "swaps": life.swap_rows, "reloads": life.reload_rows, "restarts": life.restart_rows,
          "neighbour": life.neighbour_rows, "overload": life.overload_rows}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench serving", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--quick", action="store_true",
                        help=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}, fewer swaps and restarts: under four minutes")
    parser.add_argument("--only", choices=GROUPS, action="append", help="measure only these rows; may be given more than once")
    arguments = parser.parse_args()
    rows = [made for name in arguments.only or GROUPS for made in GROUPS[name](arguments.quick)]
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
