"""./dev bench serving: longshore-node beside bare servers of the same messages, and beside itself undisturbed, in one run
on one machine.

Server and client have a processor each. The two sides of a row take turns; a figure is the median of its rounds.
docs/performance.md says more.
"""

import argparse
import json
import sys

import life
import speed

GROUPS = {"grpc": speed.grpc_rows, "rest": speed.rest_rows, "json": speed.json_rows, "start": speed.start_rows,
          "swaps": life.swap_rows, "reloads": life.reload_rows, "restarts": life.restart_rows,
          "neighbour": life.neighbour_rows, "overload": life.overload_rows}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench serving", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, swaps and restarts: under four minutes")
    parser.add_argument("--only", choices=GROUPS, action="append", help="these rows; may be given more than once")
    arguments = parser.parse_args()
    rows = [made for name in arguments.only or GROUPS for made in GROUPS[name](arguments.quick)]
    if arguments.json:
        print(json.dumps({"rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
