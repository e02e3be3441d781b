#!/usr/bin/env python3
"""Draws docs/pictures/proof-interval.png: how the interval of the difference of two error rates shrinks during a rollout.

Usage: longshore-sim --interval | tests/sim/interval_picture.py FILE.png

Needs matplotlib. The input has the columns seconds, low, high, allowed and weight; the rates are shares of the requests.
"""

import csv
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  The backend has to be chosen first.

POINTS = 100  # A percentage point is 1/100.


def main():
    rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(sys.stdin)]
    minutes = [row["seconds"] / 60 for row in rows]
    figure, axes = pyplot.subplots(figsize=(8, 4), dpi=120)
    axes.fill_between(minutes, [POINTS * row["low"] for row in rows], [POINTS * row["high"] for row in rows], alpha=0.3,
                      label="the true difference is in here (95 % confidence)")
    axes.plot(minutes, [POINTS * row["allowed"] for row in rows], color="tab:red", label="the tolerance")
    axes.axhline(0, color="gray", linewidth=0.8)
    for before, row in zip(rows, rows[1:]):
        if before["weight"] != row["weight"]:
            axes.axvline(row["seconds"] / 60, color="gray", linestyle=":")
            axes.text(row["seconds"] / 60, 2.8, f" weight {row['weight']:g} %", fontsize=8)
    axes.set_ylim(-3, 3)
    axes.set_xlabel("minutes since the rollout began")
    axes.set_ylabel("candidate's error rate less stable's\nin percentage points")
    axes.set_title("The rollout ends when the interval is below the tolerance")
    axes.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(sys.argv[1])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
