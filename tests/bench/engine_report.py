"""What ./dev bench engine found: ratios, the rows of the goals, and the tables of docs/performance.md.

Every goal is judged by medians: of a cell, the median of the ratios of its rounds. The interval beside it says how sure that is.
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

# Of the largest number. TensorFlow is the judge; another peer must only have computed in float32, as bfloat16 is off by 4e-3.
TOLERANCE, TOLERANCE_OF_OTHERS = 1e-4, 1e-3
NEAR, WORST = 1.2, 2


@dataclasses.dataclass
class Start:
    """Seconds until an engine has answered once, and the memory that it then holds."""
    open_s: float
    answer_s: float  # Load and first answer, without the opening of the library.
    resident_bytes: int


@dataclasses.dataclass
class Cell:
    """A model with so many rows on so many threads: seconds of a run, by engine the median of each round."""
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
class Lack:
    """What could not be measured or must not be: an engine that is not there, or that answers something else."""
    where: str
    engine: str
    why: str
    goal: str  # "runs", "the same answers"


@dataclasses.dataclass
class Found:
    cells: list[Cell] = dataclasses.field(default_factory=list)
    lacks: list[Lack] = dataclasses.field(default_factory=list)
    starts: dict[str, dict[str, Start]] = dataclasses.field(default_factory=dict)  # By model and engine.
    allocations: dict[str, int] = dataclasses.field(default_factory=dict)  # By model.
    calls: dict[str, float] = dataclasses.field(default_factory=dict)  # By engine: the seconds of a run that computes nothing.


def difference(got, want, tolerance=TOLERANCE):
    """"" when they are the same but for the last digits."""
    if got.shape != want.shape:
        return f"is {list(got.shape)} here and {list(want.shape)} there"
    got, want = got.astype(np.float64), want.astype(np.float64)
    if not (np.isfinite(got).all() and np.isfinite(want).all()):
        return "has NaN or infinite numbers"
    off, limit = np.abs(got - want).max(initial=0), tolerance * max(1.0, np.abs(want).max(initial=0))
    return f"is off by {off:.3g}, more than {limit:.3g}" if off > limit else ""


def spread(answers, others):
    """How far two answers of one engine are apart, as a tolerance: of the largest number, where that is above 1."""
    def of(a, b):
        return np.abs(a.astype(np.float64) - b).max(initial=0) / max(1.0, np.abs(b).max(initial=0))
    return max((of(answers[name], others[name]) for name in answers), default=0)


def differences(ours, theirs, peer, own_spread=0):
    """Of the outputs of one run in our engine and in a peer, by name; empty: they are the same. `own_spread`: how far the peer is
    from itself when it runs the model in another way, where no answer can be nearer."""
    tolerance = max(min(own_spread, TOLERANCE_OF_OTHERS), TOLERANCE if peer == TENSORFLOW else TOLERANCE_OF_OTHERS)
    told = [f"{name} has one of them only" for name in sorted(ours.keys() ^ theirs.keys())]
    compared = {name: difference(ours[name], theirs[name], tolerance) for name in sorted(ours.keys() & theirs.keys())}
    return told + [f"{name} {how}" for name, how in compared.items() if how]


def cell_row(cell):
    best = cell.best()
    ratio, low, high = cell.against(best)
    made = row(f"{cell.name}: ms of a run, median", best, cell.ms(OURS), cell.ms(best), f"<= {WORST}", ratio)
    return {**made, "interval": [low, high]}


def cell_rows(cells):
    rows = [cell_row(cell) for cell in cells]
    if rows:
        near = [made["ratio"] <= NEAR for made in rows]
        share = sum(near) / len(near)
        rows.append(row(f"share of cells whose median is within {NEAR} x the best peer's", "", share, 0, ">= 0.7"))
    against = [cell.against(TENSORFLOW)[0] for cell in cells if TENSORFLOW in cell.seconds]
    if against:
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in against))
        rows.append(row("geometric mean of the cells' medians against TensorFlow's", "", mean, 0, "<= 0.75"))
    return rows


def start_rows(starts):
    rows = []
    for model, of in starts.items():
        if {OURS, TENSORFLOW} <= of.keys():
            ours, theirs = of[OURS], of[TENSORFLOW]
            rows.append(row(f"{model}: library opening, load and first answer, s", TENSORFLOW, ours.open_s + ours.answer_s,
                            theirs.open_s + theirs.answer_s, "<= 0.2"))
            rows.append(row(f"{model}: resident after the first answer, MB", TENSORFLOW, ours.resident_bytes / 1e6,
                            theirs.resident_bytes / 1e6, "<= 0.5"))
    return rows


def rows_of(found):
    """The rows of the goals; what is not there is a goal that is missed."""
    rows = cell_rows(found.cells) + start_rows(found.starts)
    rows += [row(f"{model}: allocations of a run", "", count, 0, "<= 0") for model, count in found.allocations.items()]
    return rows + [failed(f"{lack.where}, incomplete: {lack.why}", lack.engine, lack.goal) for lack in found.lacks]


def table(head, lines):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *lines])


def digits(value):
    """Three that count, and no power of ten."""
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
    return "A run that computes next to nothing takes, call included: " + ", ".join(
        f"{name} {seconds * 1e6:.1f} us" for name, seconds in calls.items()) + "."


def machine():
    """Where and of what the figures are."""
    info = pathlib.Path("/proc/cpuinfo").read_text()
    processor = next((line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")), "unknown")
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True,
                            check=False, cwd=pathlib.Path(__file__).parent).stdout.strip()
    return f"{processor}, {os.cpu_count()} processors, {datetime.date.today()}, programs of {commit or 'an unknown commit'}."


def markdown(found):
    """The tables as docs/performance.md has them."""
    times = [f"{name}, ms" for name in NAMES]
    cells = table(["model", "batch", "threads", *times, "against the best peer", "against tensorflow"],
                  [cell_line(cell) for cell in found.cells])
    starts = table(["model", "engine", "opening, load and first answer, s", "without the opening, s", "resident, MB"],
                   [start_line(model, name, start) for model, of in found.starts.items() for name, start in of.items()])
    allocations = table(["model", "allocations of a run"], [[model, str(count)] for model, count in found.allocations.items()])
    lacks = table(["incomplete", "engine", "why"], [[lack.where, lack.engine, lack.why] for lack in found.lacks])
    parts = [machine(), calls_text(found.calls), cells, starts, allocations]
    return "\n\n".join(parts + [lacks] if found.lacks else parts)
