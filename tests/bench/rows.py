"""A row of the table: what was measured, beside what, and whether it is what it should be."""

import statistics

from processes import say

ROUNDS = 5


def row(what: str, peer: str, ours: float, theirs: float, goal: str, ratio: float | None = None) -> dict:
    """`goal`: ">= 0.85" or "<= 300", of the ratio; of ours where there is no peer."""
    value = ratio if ratio is not None else ours / theirs if theirs else ours
    sign, limit = goal.split()
    met = value >= float(limit) if sign == ">=" else value <= float(limit)
    beside = f" against {theirs:.4g} of {peer}: {value:.3f}" if peer else ""
    say(f"  {what}: {ours:.4g}{beside}, goal {goal}: {'met' if met else 'MISSED'}")
    return {"what": what, "peer": peer, "ours": ours, "theirs": theirs, "ratio": value, "goal": goal, "met": met}


def failed(what: str, peer: str, goal: str) -> dict:
    """A goal that is missed without a figure."""
    say(f"  {what}, {peer}, goal: {goal}: MISSED")
    return {"what": what, "peer": peer, "ours": None, "theirs": None, "ratio": None, "goal": goal, "met": False}


def in_turns(measures: dict, rounds: int = ROUNDS) -> dict:
    """The median of each measure, all of them taken once in every round."""
    taken = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            taken[name].append(measure())
    return {name: statistics.median(values) for name, values in taken.items()}
