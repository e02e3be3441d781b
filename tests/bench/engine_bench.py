"""./dev bench engine: compares Longshore's engine with TensorFlow, ONNX Runtime and OpenVINO on models of the zoo, in one run.

Each engine is a separate process that has loaded the model. They take turns in a random order, and a figure is the median of its
rounds. Inputs, float32 arithmetic and the number of threads are the same for all. docs/performance.md has the details.
"""

import argparse
import contextlib
import pathlib
import random
import statistics
import sys
import tempfile
import textwrap

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/models"))

import engine_peers  # noqa: E402
import zoo  # noqa: E402
from engine_peers import NAMES, OURS, TENSORFLOW, EngineError  # noqa: E402
from engine_report import TOLERANCE, Cell, Found, Missing, Start, calls_text, differences, markdown, rows_of, spread  # noqa: E402
from processes import say  # noqa: E402
from rows import QUICK_ROUNDS, ROUNDS, add_arguments, finish  # noqa: E402

MODELS = ["mlp", "mobilenet_v2", "resnet50", "densenet121", "inception_v3", "efficientnet_b0", "bert_base", "gpt_step"]
TURN_S = 0.15  # The time of one engine in one round; an engine runs at least once.
RUNS_OF_TURN_MAX = 200
WHY_CHARACTERS_MAX = 200  # The limit in a row; the printed line has the whole text.
TINY = ROOT / "tests/models/half_plus_two_tf2/1"


def write_inputs(arrays, folder):
    folder.mkdir(parents=True)
    for name, value in arrays.items():
        np.save(folder / f"{name}.npy", value)
    return folder


def read_files(folder):
    """Reads all files into the page cache, so that the first engine does not include the time of the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.read_bytes()


class Bench:
    def __init__(self, flags):
        self.flags, self.found = flags, Found()
        self.rounds = QUICK_ROUNDS if flags.quick else ROUNDS

    def report_missing(self, where, engine, why, goal="runs"):
        say(f"  {where}: {engine}: {why}")
        self.found.missing.append(Missing(where, engine, textwrap.shorten(why, WHY_CHARACTERS_MAX, placeholder=" ..."), goal))

    def each(self, where, engines, do):
        """Returns engine -> result of `do`. An engine that fails has no result and is recorded as missing."""
        done = {}
        for engine in engines:
            try:
                done[engine] = do(engine)
            except EngineError as error:
                self.report_missing(where, engine.name, str(error))
        return done

    def start_all(self, where, version_dir, kept, threads, stack):
        """Returns the engines that can load the model, Longshore's first."""
        engines = []
        for name in NAMES:
            try:
                engines.append(engine_peers.start(name, version_dir, kept, threads))
                stack.callback(engines[-1].close)
            except EngineError as error:
                self.report_missing(where, name, str(error))
        return engines

    def same(self, where, engines, name, folder, spreads=None):
        """Returns the engines with the same answers as Longshore's. The speed of other answers has no meaning."""
        answers = self.each(where, engines, lambda engine: engine.answers(name, folder / engine.name))
        ours = next((answer for engine, answer in answers.items() if engine.name == OURS), None)
        if ours is None:
            return []
        found = {engine: differences(ours, theirs, engine.name, (spreads or {}).get(engine, 0)) for engine, theirs in answers.items()}
        for engine in [engine for engine, wrong in found.items() if wrong]:
            self.report_missing(where, engine.name, "; ".join(found[engine]), "the same answers")
        return [engine for engine, wrong in found.items() if not wrong]

    def ready(self, where, engines, name, inputs, answers):
        """Prepares the engines for the inputs, each in its fastest way. Returns those with the same answers as Longshore's."""
        def tune(engine):
            engine.take(name, inputs)
            if engine.name != TENSORFLOW:
                return None
            as_loaded = engine.answers(name, answers / "as_loaded")
            say(f"  {where}: {engine.name}: {engine.tune(name)}")
            return spread(as_loaded, engine.answers(name, answers / "tuned"))

        ready = self.each(where, engines, tune)
        spreads = {engine: apart for engine, apart in ready.items() if apart is not None}
        for engine, apart in spreads.items():
            if apart > TOLERANCE:
                say(f"  {where}: the answers of {engine.name} as loaded and tuned differ by {apart:.2g}")
        return self.same(where, list(ready), name, answers, spreads)

    def seconds(self, engines, name):
        """Returns engine name -> the median seconds of a run in each round."""
        counts = {engine: max(1, min(RUNS_OF_TURN_MAX, int(TURN_S / max(engine.time(name, 3)[-1], 1e-6)))) for engine in engines}
        taken = {engine.name: [] for engine in engines}
        for _ in range(self.rounds):
            for engine in random.sample(engines, len(engines)):
                taken[engine.name].append(statistics.median(engine.time(name, counts[engine])))
        return taken

    def calls(self):
        """Measures a run that computes almost nothing: the share of call overhead in the cells of tiny models."""
        with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
            folder = pathlib.Path(temporary)
            inputs = write_inputs({"x": np.ones(1, np.float32)}, folder / "inputs")
            engines = self.start_all("half plus two", TINY, folder, 1, stack)
            engines = self.ready("half plus two", engines, "tiny", inputs, folder / "answers")
            taken = self.seconds(engines, "tiny")
            self.found.calls = {name: statistics.median(seconds) for name, seconds in taken.items()}
        say(calls_text(self.found.calls))

    def starts(self, model, engines, inputs):
        def start(engine):
            answer_s = engine.load_s + engine.take("first", inputs) + engine.time("first")[0]
            return Start(engine.open_s, answer_s, engine.resident_bytes())
        measured = {engine.name: made for engine, made in self.each(model, engines, start).items()}
        self.found.starts[model] = measured
        say(f"  {model}: load and first answer without the opening of the library: " +
            ", ".join(f"{name} {made.answer_s:.3f} s" for name, made in measured.items()))

    def allocations(self, model, engines):
        ours = [engine for engine in engines if engine.name == OURS]
        for count in self.each(model, ours, lambda engine: engine.allocations("first")).values():
            self.found.allocations[model] = count

    def fill(self, cell, engines, inputs, answers):
        """Measures the cell and adds it. Omits it if no other engine has the same answers as Longshore's."""
        engines = self.ready(cell.name, engines, f"b{cell.batch}", inputs, answers)
        if len(engines) < 2:
            return
        cell.seconds = self.seconds(engines, f"b{cell.batch}")
        ratio, low, high = cell.against(cell.best())
        times = ", ".join(f"{name} {cell.ms(name):.3f}" for name in cell.seconds)
        say(f"  {cell.name}: {times} ms; {ratio:.2f} x {cell.best()} [{low:.2f}, {high:.2f}]")
        self.found.cells.append(cell)

    def model(self, model, threads):
        with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
            folder = pathlib.Path(temporary)
            inputs = {batch: write_inputs(zoo.inputs(model, batch), folder / f"b{batch}") for batch in self.flags.batches}
            version_dir = zoo.path(model)
            read_files(version_dir)
            engines = self.start_all(model, version_dir, version_dir.parent, threads, stack)
            if threads == self.flags.threads[0]:
                self.starts(model, engines, inputs[self.flags.batches[0]])
            for batch in self.flags.batches:
                self.fill(Cell(model, batch, threads, {}), engines, inputs[batch], folder / f"answers{batch}")
            if threads == self.flags.threads[0]:
                self.allocations(model, engines)

    def run(self):
        for line in engine_peers.settings():
            say(line)
        self.calls()
        for model in self.flags.models:
            for threads in self.flags.threads:
                self.model(model, threads)


def parse_flags():
    parser = argparse.ArgumentParser(prog="./dev bench engine", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--markdown", action="store_true", help="end with the tables of docs/performance.md")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}")
    parser.add_argument("--models", nargs="+", metavar="NAME", choices=list(zoo.MODELS), default=MODELS,
                        help=f"models of the zoo [{' '.join(MODELS)}]")
    parser.add_argument("--batches", nargs="+", type=int, metavar="N", default=[1, 8, 32], help="batch sizes [1 8 32]")
    parser.add_argument("--threads", nargs="+", type=int, metavar="N", default=[1, 2], help="threads per run [1 2]")
    return parser.parse_args()


def main() -> int:
    flags = parse_flags()
    bench = Bench(flags)
    bench.run()
    if flags.markdown:
        print(markdown(bench.found))
    status = finish(rows_of(bench.found), flags)
    # Different answers fail the benchmark, because their speed has no meaning. An engine that is not installed is only a row.
    return 1 if any(one.goal == "the same answers" for one in bench.found.missing) else status


if __name__ == "__main__":
    sys.exit(main())
