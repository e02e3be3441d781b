"""./dev bench engine: models of the zoo in our engine beside TensorFlow, ONNX Runtime and OpenVINO, in one run.

Each engine is a process of its own that has loaded the model; they take turns, a few runs each, and a figure is the median of
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

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/models"))

import engine_peers  # noqa: E402
import zoo  # noqa: E402
from processes import say  # noqa: E402
from rows import row  # noqa: E402

ROUNDS = 9
TURN_S = 0.15  # Of one engine in one round: at least one run.


class Engine:
    """A runner that answers line by line."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        said = self._read()
        if not said.startswith("loaded "):
            raise RuntimeError(f"{name}: {said or 'ended while it loaded'}")
        self.load_s = float(said.split()[1])

    def _read(self):
        return self.process.stdout.readline().strip()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        said = self._read()
        if not said or said.startswith("error: "):
            raise RuntimeError(f"{self.name}: {said or 'ended'}")
        return said

    def time(self, name, count):
        return [float(seconds) for seconds in self.ask(f"time {name} {count}").split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def write_inputs(model, batch, folder):
    folder.mkdir()
    for name, value in zoo.inputs(model, batch).items():
        np.save(folder / f"{name}.npy", value)


def start_all(model, threads, quick):
    """The engines that can run the model, ours first; who cannot is said."""
    engines = []
    for name, command in engine_peers.commands(model, threads):
        try:
            engines.append(Engine(name, command))
        except RuntimeError as error:
            say(f"  {model}: left out: {error}")
            if name == "longshore":
                return []
    return engines


def measure(engines, name, rounds):
    """Seconds of a run: by engine, the median of each round."""
    first = {engine.name: engine.time(name, 3)[-1] for engine in engines}
    taken = {engine.name: [] for engine in engines}
    for _ in range(rounds):
        for engine in random.sample(engines, len(engines)):
            count = max(1, min(200, int(TURN_S / max(first[engine.name], 1e-6))))
            taken[engine.name].append(statistics.median(engine.time(name, count)))
    return taken


def interval(ours, theirs):
    """95 % of the median of paired ratios, by bootstrap with a fixed seed."""
    ratios = [a / b for a, b in zip(ours, theirs)]
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(1000))
    return statistics.median(ratios), medians[25], medians[974]


def cell(model, threads, batch, taken):
    """One line of the table: ours against the best of the others, and against TensorFlow."""
    ours = taken["longshore"]
    best = min((name for name in taken if name != "longshore"), key=lambda name: statistics.median(taken[name]))
    ratio, low, high = interval(ours, taken[best])
    times = ", ".join(f"{name} {statistics.median(values) * 1e3:.3f}" for name, values in taken.items())
    say(f"  {model} b{batch} t{threads}: {times} ms; {ratio:.2f} x {best} [{low:.2f}, {high:.2f}]")
    against_tf = interval(ours, taken["tensorflow"])[0] if "tensorflow" in taken else None
    return {"model": model, "batch": batch, "threads": threads, "best": best, "ratio": ratio, "low": low, "high": high,
            "tensorflow": against_tf, "ms": {name: statistics.median(values) * 1e3 for name, values in taken.items()}}


def measure_model(model, threads, batches, quick):
    cells, loads = [], {}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        engines = start_all(model, threads, quick)
        for engine in engines:
            stack.callback(engine.close)
        if len(engines) < 2:
            return [], {}
        for batch in batches:
            inputs = pathlib.Path(folder) / f"b{batch}"
            write_inputs(model, batch, inputs)
            for engine in engines:
                engine.ask(f"inputs b{batch} {inputs}")
            if not loads:
                loads = {engine.name: (engine.load_s + engine.time(f"b{batch}", 1)[0], int(engine.ask("memory")) * 1024)
                         for engine in engines}
            cells.append(cell(model, threads, batch, measure(engines, f"b{batch}", 3 if quick else ROUNDS)))
    return cells, loads


def summary(cells, loads):
    """The rows of the goals."""
    near = [c["ratio"] <= 1.2 for c in cells]
    rows = [row("latency: share of cells within 1.2 x the best peer", "", sum(near) / len(near), 0, ">= 0.7"),
            row("latency: the worst cell against the best peer", "", max(c["ratio"] for c in cells), 0, "<= 2")]
    against = [c["tensorflow"] for c in cells if c["tensorflow"]]
    if against:
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in against))
        rows.append(row("latency: geometric mean against TensorFlow", "", mean, 0, "<= 0.75"))
    for model, of in loads.items():
        if "tensorflow" not in of:
            continue
        ours, theirs = of["longshore"], of["tensorflow"]
        rows.append(row(f"load to first answer, {model}, s", "tensorflow", ours[0], theirs[0], "<= 0.2"))
        rows.append(row(f"resident, {model}, MB", "tensorflow", ours[1] / 1e6, theirs[1] / 1e6, "<= 0.5"))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench engine", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    parser.add_argument("--quick", action="store_true", help="three rounds")
    parser.add_argument("--models", nargs="+", metavar="NAME", choices=list(zoo.MODELS), default=engine_peers.MODELS)
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 32])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    flags = parser.parse_args()
    cells, loads = [], {}
    for model in flags.models:
        for threads in flags.threads:
            made, loaded = measure_model(model, threads, flags.batches, flags.quick)
            cells += made
            if threads == flags.threads[0] and loaded:
                loads[model] = loaded
    if not cells:
        say("no model ran in ours and in another engine")
        return 1
    rows = summary(cells, loads)
    if flags.json:
        print(json.dumps({"rows": rows, "cells": cells}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
