"""./dev bench routes: what match rules cost a request, and how long hostile regular expressions take.

longshore-bench measures processor times. The peer of the regular expressions is std::regex with the same expressions and values.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator

from processes import BIN, say
from rows import ROUNDS, add_arguments, finish, in_turns, row, row_of_figures, row_of_rounds


def measure(what: str):
    return json.loads(subprocess.run([BIN / "longshore-bench", what], check=True, stdout=subprocess.PIPE).stdout)


def rows_of_rules(rounds: list[dict]) -> Iterator[dict]:
    taken = {name: [each[name] for each in rounds] for name in rounds[0]}
    yield row_of_figures("16 match rules, none of which matches, us per request", taken["rules_us"], "<= 1")
    yield row_of_rounds("four ordinary regular expressions, us per request", "std::regex", taken["regex_us"], taken["std_regex_us"], "<= 1")


def row_of_bombs(bombs: list[dict]) -> dict:
    for bomb in bombs:
        say(f"    {bomb['expression']}: " + (bomb["refusal"] or f"{bomb['us']:.1f} us"))
    slowest = max(bombs, key=lambda bomb: bomb["us"])
    refused = sum(1 for bomb in bombs if bomb["refusal"])
    return row(f"the slowest of {len(bombs)} hostile regular expressions, {refused} of which a manifest may not have, us per value", "",
               slowest["us"], 0, "<= 50", basis=f"median of values of the worst kind, {slowest['expression']}")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench routes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    options = parser.parse_args()
    rounds = in_turns({"rules": lambda: measure("rules")}, ROUNDS)["rules"]
    return finish([*rows_of_rules(rounds), row_of_bombs(measure("bombs"))], options)


if __name__ == "__main__":
    sys.exit(main())
