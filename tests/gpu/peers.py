"""The part `peers`: PyTorch on the same device, to compare an engine with: float32 without TF32, whole models with random weights.

    python3 tests/gpu/peers.py --budget S    measures all that fits into S seconds, and prints a JSON line for each fact

Eager models are replayed as CUDA graphs. Compiled ones are compiled by many processes at the same time, which then measure one
after another, so that nothing else uses the device.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["resnet50", "mobilenet_v2", "efficientnet_b0", "bert_base"]
BATCHES = [1, 8, 32, 128]
BATCHES_OF_NHWC = [8]
BATCHES_OF_AUTOTUNE = [1, 32]
WORDS = 64  # Of BERT, as in the zoo.
SAMPLES_MIN, SAMPLES_MAX = 50, 100
SAMPLING_S = 1  # With more samples than the least if this allows it.
THROUGHPUT_S = 0.4
MEASURE_S = 20  # The most that a compiled model may take once it is its turn.
COLUMNS = ["model", "mode", "layout", "batch", "p50 us", "p99 us", "examples per s", "allocated MiB", "reserved MiB", "prepare s",
           "difference from eager"]


def say(**line):
    print(json.dumps(line, separators=(",", ":")), flush=True)


def add_row(*row):
    say(table="peers", row=[float(f"{cell:.4g}") if isinstance(cell, float) else cell for cell in row])


def load(name):
    """The model on the device, with the same random weights in every process."""
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    if name == "bert_base":
        import transformers
        return transformers.BertModel(transformers.BertConfig()).eval().cuda()
    import torchvision
    return getattr(torchvision.models, name)(weights=None).eval().cuda()


def make_input(name, batch):
    import torch
    torch.manual_seed(2)
    if name == "bert_base":
        return torch.randint(0, 30522, (batch, WORDS), device="cuda")
    return torch.randn(batch, 3, 224, 224, device="cuda")


def first_output(result):
    return result if not hasattr(result, "last_hidden_state") else result.last_hidden_state


def measure(run, batch):
    """p50 and p99 in microseconds until the host knows that a run has ended, and examples per second with runs back to back."""
    import torch
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    times, end = [], time.perf_counter() + SAMPLING_S
    while len(times) < SAMPLES_MIN or (len(times) < SAMPLES_MAX and time.perf_counter() < end):
        began = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) * 1e6)
    count = max(3, int(THROUGHPUT_S * 1e6 / statistics.median(times)))
    began = time.perf_counter()
    for _ in range(count):
        run()
    torch.cuda.synchronize()
    return statistics.median(times), sorted(times)[int(0.99 * (len(times) - 1))], batch * count / (time.perf_counter() - began)


def memory():
    import torch
    return round(torch.cuda.max_memory_allocated() / 2**20), round(torch.cuda.max_memory_reserved() / 2**20)


def capture(model, value):
    """A CUDA graph of the eager model."""
    import torch
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(value)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = first_output(model(value))
    return graph, output


def eager(names):
    """Measures eager models, replayed as CUDA graphs, in both layouts."""
    import torch
    torch.set_grad_enabled(False)
    for name in names:
        layouts = ["-"] if name == "bert_base" else ["NCHW", "NHWC"]
        for layout in layouts:
            model = load(name)
            if layout == "NHWC":
                model = model.to(memory_format=torch.channels_last)
            for batch in BATCHES if layout != "NHWC" else BATCHES_OF_NHWC:
                eager_cell(name, layout, model, batch)
            del model
            torch.cuda.empty_cache()


def eager_cell(name, layout, model, batch):
    import torch
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    value = make_input(name, batch)
    if layout == "NHWC":
        value = value.contiguous(memory_format=torch.channels_last)
    began = time.perf_counter()
    graph, _ = capture(model, value)
    prepared = time.perf_counter() - began
    add_row(name, "eager, CUDA graph", layout, batch, *measure(graph.replay, batch), *memory(), prepared, None)
    if batch == 1:
        add_row(name, "eager", layout, batch, *measure(lambda: model(value), batch), *memory(), prepared, None)


def worker(name, mode, batch):
    """Compiles one model for one batch, says so, waits for a line, and measures."""
    import torch
    import torch._inductor.config
    torch.set_grad_enabled(False)
    torch._inductor.config.freezing = True  # Folds batch normalizations into convolutions, as an engine would.
    model, value = load(name), make_input(name, batch)
    expected = first_output(model(value)).clone()
    began = time.perf_counter()
    compiled = torch.compile(model, mode=mode, dynamic=False)
    for _ in range(4):
        output = first_output(compiled(value))
    torch.cuda.synchronize()
    prepared = time.perf_counter() - began
    difference = float((output - expected).norm() / expected.norm())
    torch.cuda.reset_peak_memory_stats()
    print("ready", flush=True)
    sys.stdin.readline()
    add_row(name, f"compiled, {mode}", "-", batch, *measure(lambda: compiled(value), batch), *memory(), prepared, difference)


class Worker:
    """A process that compiles one cell of the table."""

    def __init__(self, name, mode, batch, cache):
        self.cell = f"{name}, {mode}, batch {batch}"
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor", "TRITON_CACHE_DIR": f"{cache}/triton",
                       "TORCHINDUCTOR_COMPILE_THREADS": "2", "OMP_NUM_THREADS": "2"}
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", name, mode, str(batch)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment)
        self.is_ready = threading.Event()
        self.error = None
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.strip() == "ready":
                self.is_ready.set()
            elif line.startswith("{"):
                self.lines.append(line)

    def wait_until_ready(self, deadline):
        while time.monotonic() < deadline and self.process.poll() is None and not self.is_ready.wait(0.1):
            pass

    def stop_unless_ready(self):
        if not self.is_ready.is_set() and self.process.poll() is None:
            self.error = "not compiled in the time"
            self.process.kill()

    def finish(self):
        """Lets the process measure, if it is ready, and prints its lines."""
        if self.is_ready.is_set() and self.process.poll() is None:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
            try:
                self.process.wait(MEASURE_S)
            except subprocess.TimeoutExpired:
                self.error = f"not measured within {MEASURE_S} s"
        self.process.kill()
        self.process.wait()
        self.reader.join()
        print("".join(self.lines), end="", flush=True)
        if not self.lines:
            self.log.seek(0)
            say(name=self.cell, error=self.error or self.log.read().strip()[-200:])


def compiled(cells, deadline, cache):
    """Compiles all cells at the same time until the deadline, then measures those that are ready."""
    workers = [Worker(*cell, cache) for cell in cells]
    measuring_s = 3 * len(workers)
    for one in workers:
        one.wait_until_ready(deadline - measuring_s)
    for one in workers:
        one.stop_unless_ready()
    for one in workers:
        one.finish()


def say_versions():
    import importlib.metadata
    versions = {}
    for package in ("torch", "torchvision", "transformers", "triton", "onnxruntime", "nvidia-cudnn-cu13", "nvidia-cublas"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    say(name="packages", **versions)
    try:
        import onnxruntime
        say(name="providers of onnxruntime", providers=onnxruntime.get_available_providers())
    except ImportError:
        say(name="providers of onnxruntime", providers=None)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=240, metavar="S")
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated")
    parser.add_argument("--worker", nargs=3, metavar=("MODEL", "MODE", "BATCH"), help=argparse.SUPPRESS)
    parser.add_argument("--eager", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    flags = parse_arguments()
    names = flags.models.split(",")
    if flags.worker:
        return worker(flags.worker[0], flags.worker[1], int(flags.worker[2]))
    if flags.eager:
        return eager(names)
    deadline = time.monotonic() + flags.budget
    say_versions()
    say(table="peers", columns=COLUMNS)
    try:
        subprocess.run([sys.executable, __file__, "--eager", "--models", flags.models], timeout=flags.budget * 0.4, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        say(name="eager models", error=str(error)[:300])
    cells = [(name, "reduce-overhead", batch) for name in names for batch in BATCHES]
    autotuned = [(name, "max-autotune", batch) for name in names for batch in BATCHES_OF_AUTOTUNE]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        compiled(cells, time.monotonic() + (deadline - time.monotonic()) * 0.55, cache)
        compiled(autotuned, deadline, cache)
    return None


if __name__ == "__main__":
    main()
