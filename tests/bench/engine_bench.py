"""./dev bench engine: models of the zoo in our engine beside TensorFlow, ONNX Runtime and OpenVINO, in one run.

Each engine is a process of its own that has loaded the model; they take turns in a random order, and a figure is the median of
its rounds. Inputs, float32 arithmetic and the number of threads are the same for all. docs/performance.md says more.
"""

import argparse
import contextlib
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/models"))

import engine_peers  # noqa: E402
import zoo  # noqa: E402
from processes import say  # noqa: E402
from rows import row  # noqa: E402

ROUNDS, QUICK_ROUNDS = 9, 3
TURN_S = 0.15  # Of one engine in one round: at least one run.
RUNS_OF_TURN_MAX = 200
TOLERANCE = 1e-4
OURS, TENSORFLOW = "longshore", "tensorflow"


class Engine:
    """A runner that answers line by line; see engine/runner.h."""

    def __init__(self, name, command):
        self.name, self.began = name, time.perf_counter()
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        said = self._read()
        if not said.startswith("loaded "):
            self.close()
            raise RuntimeError(f"{name}: {said or 'ended while it loaded'}")

    def _read(self):
        return self.process.stdout.readline().strip()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        said = self._read()
        if not said or said.startswith("error: "):
            raise RuntimeError(f"{self.name}: {said or 'ended'}")
        return said

    def time(self, name, count=1):
        return [float(seconds) for seconds in self.ask(f"time {name} {count}").split()]

    def answer_first(self, name, folder):
        """Its start, the opening of its library and the load of the model included; seconds, and bytes resident after it."""
        self.ask(f"inputs {name} {folder}")
        self.time(name)
        return time.perf_counter() - self.began, int(self.ask("memory")) * 1024

    def answers(self, name, folder):
        folder.mkdir()
        self.ask(f"save {name} {folder}")
        return {path.stem: np.load(path) for path in folder.glob("*.npy")}

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def write_inputs(model, batch, folder):
    folder.mkdir()
    for name, value in zoo.inputs(model, batch).items():
        np.save(folder / f"{name}.npy", value)


def start_all(model, threads, inputs, stack):
    """The engines that can run the model, ours first, and what each took to its first answer; who cannot is said."""
    engines, starts = [], {}
    for name, command in engine_peers.commands(model, threads):
        try:
            engine = Engine(name, command)
            stack.callback(engine.close)
            starts[name] = engine.answer_first("first", inputs)
            engines.append(engine)
        except RuntimeError as error:
            if name == OURS:
                raise
            say(f"  {model}: left out: {error}")
    return engines, starts


def check_same(engines, name, folder):
    """A quick engine that answers something else is not quick."""
    ours, *others = [(engine.name, engine.answers(name, folder / engine.name)) for engine in engines]
    for other, answers in others:
        for output in ours[1].keys() & answers.keys():
            got, want = ours[1][output].astype(np.float64), answers[output].astype(np.float64)
            off, limit = np.abs(got - want).max(), TOLERANCE * max(1.0, np.abs(want).max())
            if off > limit:
                say(f"  {name}: {output} is off by {off:.3g} from {other}'s, more than {limit:.3g}")


def measure(engines, name, rounds):
    """Seconds of a run: by engine, the median of each round."""
    counts = {engine: max(1, min(RUNS_OF_TURN_MAX, int(TURN_S / max(engine.time(name, 3)[-1], 1e-6)))) for engine in engines}
    taken = {engine.name: [] for engine in engines}
    for _ in range(rounds):
        for engine in random.sample(engines, len(engines)):
            taken[engine.name].append(statistics.median(engine.time(name, counts[engine])))
    return taken


def interval(ours, theirs):
    """The median of paired ratios and its 95 % interval, by bootstrap with a fixed seed."""
    ratios = [a / b for a, b in zip(ours, theirs)]
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(1000))
    return statistics.median(ratios), medians[25], medians[974]


def cell(model, threads, batch, taken):
    """One line of the table: ours against the best of the others, and against TensorFlow."""
    ours = taken[OURS]
    best = min((name for name in taken if name != OURS), key=lambda name: statistics.median(taken[name]))
    ratio, low, high = interval(ours, taken[best])
    times = ", ".join(f"{name} {statistics.median(values) * 1e3:.3f}" for name, values in taken.items())
    say(f"  {model} b{batch} t{threads}: {times} ms; {ratio:.2f} x {best} [{low:.2f}, {high:.2f}]")
    against_tf = interval(ours, taken[TENSORFLOW])[0] if TENSORFLOW in taken else None
    return {"model": model, "batch": batch, "threads": threads, "best": best, "ratio": ratio, "low": low, "high": high,
            "tensorflow": against_tf, "ms": {name: statistics.median(values) * 1e3 for name, values in taken.items()}}


def measure_model(model, threads, batches, rounds):
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = pathlib.Path(temporary)
        for batch in batches:
            write_inputs(model, batch, folder / f"b{batch}")
        engines, starts = start_all(model, threads, folder / f"b{batches[0]}", stack)
        cells = []
        for batch in batches if len(engines) > 1 else []:
            for engine in engines:
                engine.ask(f"inputs b{batch} {folder / f'b{batch}'}")
            (folder / f"answers{batch}").mkdir()
            check_same(engines, f"b{batch}", folder / f"answers{batch}")
            cells.append(cell(model, threads, batch, measure(engines, f"b{batch}", rounds)))
        allocations = int(engines[0].ask(f"allocations b{batches[0]}"))
        return cells, starts, allocations


def summary(cells, starts, allocations):
    """The rows of the goals."""
    near = [c["ratio"] <= 1.2 for c in cells]
    rows = [row("latency: share of cells within 1.2 x the best peer", "", sum(near) / len(near), 0, ">= 0.7"),
            row("latency: the worst cell against the best peer", "", max(c["ratio"] for c in cells), 0, "<= 2")]
    if against := [c["tensorflow"] for c in cells if c["tensorflow"]]:
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in against))
        rows.append(row("latency: geometric mean against TensorFlow", "", mean, 0, "<= 0.75"))
    for model, of in starts.items():
        if TENSORFLOW in of:
            (ours_s, ours_bytes), (their_s, their_bytes) = of[OURS], of[TENSORFLOW]
            rows.append(row(f"{model}: start to first answer, s", TENSORFLOW, ours_s, their_s, "<= 0.2"))
            rows.append(row(f"{model}: resident, MB", TENSORFLOW, ours_bytes / 1e6, their_bytes / 1e6, "<= 0.5"))
    for model, count in allocations.items():
        rows.append(row(f"{model}: allocations of a run", "", count, 0, "<= 0"))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench engine", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}")
    parser.add_argument("--models", nargs="+", metavar="NAME", choices=list(zoo.MODELS), default=engine_peers.MODELS,
                        help=f"of the zoo [{' '.join(engine_peers.MODELS)}]")
    parser.add_argument("--batches", nargs="+", type=int, metavar="N", default=[1, 8, 32], help="rows of a run [1 8 32]")
    parser.add_argument("--threads", nargs="+", type=int, metavar="N", default=[1, 2], help="of a run [1 2]")
    flags = parser.parse_args()
    cells, starts, allocations = [], {}, {}
    for line in engine_peers.settings():
        say(line)
    for model in flags.models:
        for threads in flags.threads:
            made, started, allocated = measure_model(model, threads, flags.batches, QUICK_ROUNDS if flags.quick else ROUNDS)
            cells += made
            if threads == flags.threads[0]:
                starts[model], allocations[model] = started, allocated
    if not cells:
        say("bench: no model ran in ours and in another engine")
        return 1
    rows = summary(cells, starts, allocations)
    if flags.json:
        print(json.dumps({"rows": rows, "cells": cells}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
