"""The results of ./dev bench engine: ratios, the rows of the goals, and the tables of docs/performance.md.

Every goal applies to medians: for a cell, the median of the ratios of its rounds. Its interval shows how certain the median is.
"""

import dataclasses
import datetime
import math
import os
import pathlib
import statistics
import subprocess

import numpy as np

from engine_peers import NAMES, OURS, TENSORFLOW
from rows import failed, median_of_ratios, row

# Relative to the largest number. TensorFlow is the reference. Other peers only have to compute in float32; bfloat16 is off by 4e-3.
TOLERANCE, TOLERANCE_OF_OTHERS = 1e-4, 1e-3
SOFTMAXES = {"probabilities", "scores"}  # The outputs of the zoo that are softmaxes.
NEAR, WORST = 1.2, 2


@dataclasses.dataclass
class Start:
    """The seconds until the first answer of an engine, and its memory after it."""
    open_s: float
    answer_s: float  # Load and first answer, without the opening of the library.
    resident_bytes: int


@dataclasses.dataclass
class Cell:
    """A model with a batch size and a number of threads. `seconds`: engine -> the median seconds of a run in each round."""
    model: str
    batch: int
    threads: int
    seconds: dict[str, list[float]]

    @property
    def name(self):
        return f"{self.model} b{self.batch} t{self.threads}"

    def ms(self, engine):
        return statistics.median(self.seconds[engine]) * 1e3

    def best(self):
        return min((name for name in self.seconds if name != OURS), key=self.ms)

    def against(self, peer):
        return median_of_ratios(self.seconds[OURS], self.seconds[peer])


@dataclasses.dataclass
class Missing:
    """A missing measurement: the engine is not installed, failed, or has different answers."""
    where: str
    engine: str
    why: str
    goal: str  # "runs", "the same answers"


@dataclasses.dataclass
class Found:
    cells: list[Cell] = dataclasses.field(default_factory=list)
    missing: list[Missing] = dataclasses.field(default_factory=list)
    starts: dict[str, dict[str, Start]] = dataclasses.field(default_factory=dict)  # By model and engine.
    allocations: dict[str, int] = dataclasses.field(default_factory=dict)  # By model.
    calls: dict[str, float] = dataclasses.field(default_factory=dict)  # By engine: the seconds of a run that computes almost nothing.


def difference(got, want, tolerance=TOLERANCE):
    """Returns what differs; an empty string if the arrays are equal within the tolerance."""
    if got.shape != want.shape:
        return f"has the shape {list(got.shape)} in longshore and {list(want.shape)} in the other engine"
    got, want = got.astype(np.float64), want.astype(np.float64)
    if not (np.isfinite(got).all() and np.isfinite(want).all()):
        return "has NaN or infinite numbers"
    off, limit = np.abs(got - want).max(initial=0), tolerance * max(1.0, np.abs(want).max(initial=0))
    return f"is off by {off:.3g}, more than {limit:.3g}" if off > limit else ""


def comparable(name, value):
    """Returns softmaxes as logarithms: an error of 1e-4 would be a tenth of one of a thousand probabilities."""
    return np.log(np.maximum(value.astype(np.float64), np.finfo(np.float32).tiny)) if name in SOFTMAXES else value


def spread(answers, others):
    """Returns the largest difference between two answers of one engine, relative to the largest number or to 1 if that is smaller."""
    def of(a, b):
        return np.abs(a.astype(np.float64) - b).max(initial=0) / max(1.0, np.abs(b).max(initial=0))
    return max((of(comparable(name, answers[name]), comparable(name, others[name])) for name in answers), default=0)


def differences(ours, theirs, peer, own_spread=0):
    """Compares the outputs of one run in our engine and in a peer. Returns a text for each output that differs.

    `own_spread`: the spread of the peer's own answers when it runs the model in another way; our answers may differ as much."""
    tolerance = max(min(own_spread, TOLERANCE_OF_OTHERS), TOLERANCE if peer == TENSORFLOW else TOLERANCE_OF_OTHERS)
    texts = [f"only one engine has {name}" for name in sorted(ours.keys() ^ theirs.keys())]
    compared = {name: difference(comparable(name, ours[name]), comparable(name, theirs[name]), tolerance)
                for name in sorted(ours.keys() & theirs.keys())}
    return texts + [f"{name} {how}" for name, how in compared.items() if how]


def cell_row(cell):
    best = cell.best()
    ratio, low, high = cell.against(best)
    made = row(f"{cell.name}: ms of a run, median", best, cell.ms(OURS), cell.ms(best), f"<= {WORST}", ratio,
               f"{len(cell.seconds[OURS])} rounds")
    return {**made, "interval": [low, high]}


def cell_rows(cells):
    rows = [cell_row(cell) for cell in cells]
    if rows:
        near = [made["ratio"] <= NEAR for made in rows]
        share = sum(near) / len(near)
        rows.append(row(f"share of cells whose median is within {NEAR} x the best peer's", "", share, 0, ">= 0.7",
                        basis=f"{len(cells)} cells"))
    against = [cell.against(TENSORFLOW)[0] for cell in cells if TENSORFLOW in cell.seconds]
    if against:
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in against))
        rows.append(row("geometric mean of the cells' medians against TensorFlow's", "", mean, 0, "<= 0.75", basis=f"{len(against)} cells"))
    return rows


def start_rows(starts):
    rows = []
    for model, by_engine in starts.items():
        if {OURS, TENSORFLOW} <= by_engine.keys():
            ours, theirs = by_engine[OURS], by_engine[TENSORFLOW]
            rows.append(row(f"{model}: library opening, load and first answer, s", TENSORFLOW, ours.open_s + ours.answer_s,
                            theirs.open_s + theirs.answer_s, "<= 0.2"))
            rows.append(row(f"{model}: resident after the first answer, MB", TENSORFLOW, ours.resident_bytes / 1e6,
                            theirs.resident_bytes / 1e6, "<= 0.5"))
    return rows


def rows_of(found):
    """Returns the rows of the goals. A missing measurement is a goal that is missed."""
    rows = cell_rows(found.cells) + start_rows(found.starts)
    rows += [row(f"{model}: allocations of a run", "", count, 0, "<= 0") for model, count in found.allocations.items()]
    return rows + [failed(f"{one.where}, incomplete: {one.why}", one.engine, one.goal) for one in found.missing]


def table(head, lines):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *lines])


def digits(value):
    """Formats with three significant digits and without an exponent."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def cell_line(cell):
    times = [digits(cell.ms(name)) if name in cell.seconds else "" for name in NAMES]
    best, low, high = cell.against(cell.best())
    best_text = f"{best:.2f} of {cell.best()} [{low:.2f}, {high:.2f}]"
    tensorflow = f"{cell.against(TENSORFLOW)[0]:.2f}" if TENSORFLOW in cell.seconds else ""
    return [cell.model, str(cell.batch), str(cell.threads), *times, best_text, tensorflow]


def start_line(model, engine, start):
    return [model, engine, digits(start.open_s + start.answer_s), digits(start.answer_s), digits(start.resident_bytes / 1e6)]


def calls_text(calls):
    return "A run that computes almost nothing takes, including the call: " + ", ".join(
        f"{name} {seconds * 1e6:.1f} us" for name, seconds in calls.items()) + "."


def machine():
    """Describes the machine and the commit of the measurements."""
    info = pathlib.Path("/proc/cpuinfo").read_text()
    processor = next((line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")), "unknown")
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True,
                            check=False, cwd=pathlib.Path(__file__).parent).stdout.strip()
    return f"{processor}, {os.cpu_count()} processors, {datetime.date.today()}, programs of {commit or 'an unknown commit'}."


def markdown(found):
    """Returns the tables of docs/performance.md."""
    times = [f"{name}, ms" for name in NAMES]
    cells = table(["model", "batch", "threads", *times, "against the best peer", "against tensorflow"],
                  [cell_line(cell) for cell in found.cells])
    starts = table(["model", "engine", "opening, load and first answer, s", "without the opening, s", "resident, MB"],
                   [start_line(model, name, start) for model, by_engine in found.starts.items() for name, start in by_engine.items()])
    allocations = table(["model", "allocations of a run"], [[model, str(count)] for model, count in found.allocations.items()])
    missing = table(["incomplete", "engine", "why"], [[one.where, one.engine, one.why] for one in found.missing])
    parts = [machine(), calls_text(found.calls), cells, starts, allocations]
    return "\n\n".join(parts + [missing] if found.missing else parts)
