"""Rows of the table: what was measured, with which peer it was compared, and whether it meets its goal."""

import argparse
import json
import math
import statistics

from processes import say

ROUNDS, QUICK_ROUNDS = 9, 3


def row(what: str, peer: str, ours: float, theirs: float, goal: str, ratio: float | None = None, basis: str = "one run") -> dict:
    """Makes and prints a row. `goal`, such as ">= 0.85", applies to the ratio, or to `ours` if there is no peer.

    `basis` says what the figure comes from. Only a row of rounds has an interval.
    """
    value = ratio if ratio is not None else ours / theirs if theirs else ours
    sign, limit = goal.split()
    met = value >= float(limit) if sign == ">=" else value <= float(limit)
    comparison = f" against {theirs:.4g} of {peer}: {value:.3f}" if peer else ""
    say(f"  {what}: {ours:.4g}{comparison}, {basis}, goal {goal}: {'met' if met else 'MISSED'}")
    return {"what": what, "peer": peer, "ours": ours, "theirs": theirs, "ratio": value, "goal": goal, "met": met, "basis": basis,
            "interval": None}


def row_of_rounds(what: str, peer: str, ours: list[float], theirs: list[float], goal: str) -> dict:
    """Makes a row from the median of the ratios of the rounds, and adds "interval", the 95 % interval of this median."""
    ratio, low, high = median_of_ratios(ours, theirs)
    made = row(what, peer, statistics.median(ours), statistics.median(theirs), goal, ratio, f"{len(ours)} rounds")
    say(f"    the median of the ratios is within [{low:.3f}, {high:.3f}]")
    return {**made, "interval": [low, high]}


def row_of_figures(what: str, figures: list[float], goal: str) -> dict:
    """Makes a row without a peer from the median of the rounds, and adds "interval", the 95 % interval of this median."""
    middle, low, high = median_with_interval(figures)
    made = row(what, "", middle, 0, goal, basis=f"{len(figures)} rounds")
    say(f"    the median is within [{low:.4g}, {high:.4g}]")
    return {**made, "interval": [low, high]}


def failed(what: str, peer: str, goal: str) -> dict:
    """Makes a row that misses its goal because there is no figure."""
    say(f"  {what}, {peer}, goal: {goal}: MISSED")
    return {"what": what, "peer": peer, "ours": None, "theirs": None, "ratio": None, "goal": goal, "met": False,
            "basis": "no figure", "interval": None}


def shown(what: str, peer: str, ours: list[float], theirs: list[float]) -> dict:
    """Makes a row of rounds without a goal: `goal` is empty, and `met` is None."""
    ratio, low, high = median_of_ratios(ours, theirs)
    medians = statistics.median(ours), statistics.median(theirs)
    say(f"  {what}: {medians[0]:.4g} against {medians[1]:.4g} of {peer}: {ratio:.3f} within [{low:.3f}, {high:.3f}], no goal")
    return {"what": what, "peer": peer, "ours": medians[0], "theirs": medians[1], "ratio": ratio, "goal": "", "met": None,
            "basis": f"{len(ours)} rounds", "interval": [low, high]}


def in_turns(measures: dict, rounds: int = ROUNDS) -> dict[str, list]:
    """Returns name -> one value per round. Each round takes all measures one after the other."""
    taken = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            taken[name].append(measure())
    return taken


def median_of_ratios(ours: list[float], theirs: list[float]) -> tuple[float, float, float]:
    """Returns the median of the ratios of the rounds and its 95 % interval."""
    return median_with_interval([a / b for a, b in zip(ours, theirs, strict=True)])


def median_with_interval(values: list[float]) -> tuple[float, float, float]:
    """Returns the median and its 95 % interval.

    The interval is that of the sign test: it goes from the k-th smallest to the k-th largest value, where k is the largest number
    for which the true median is outside in at most 5 % of all cases (H. A. David, Order Statistics, 7.1). It assumes nothing
    about the distribution of the values. With fewer than six rounds no such k exists, and the interval includes all values.
    """
    ordered = sorted(values)
    count = len(ordered)
    k = 1
    while 2 * sum(math.comb(count, i) for i in range(k + 1)) <= 0.05 * 2**count:
        k += 1
    return statistics.median(ordered), ordered[k - 1], ordered[-k]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    parser.add_argument("--gate", action="store_true", help="exit with 1 if a row misses its goal")


def finish(rows: list[dict], arguments: argparse.Namespace) -> int:
    """Prints a summary, and a JSON object if requested. Returns the exit status."""
    judged = [made for made in rows if made["goal"]]
    missed = [made["what"] for made in judged if not made["met"]]
    say(f"{len(judged) - len(missed)} of {len(judged)} rows meet their goals" + (f"; missed: {'; '.join(missed)}" if missed else ""))
    if arguments.json:
        print(json.dumps({"rows": rows}))
    return 1 if arguments.gate and missed else 0
