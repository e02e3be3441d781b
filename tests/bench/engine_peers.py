"""The engines of ./dev bench engine: how each is started with a model, and what it is told."""

import contextlib
import importlib.metadata
import pathlib
import subprocess
import sys
import time

import numpy as np

from processes import BIN, say

HERE = pathlib.Path(__file__).resolve().parent
OURS, TENSORFLOW, ONNX = "longshore", "tensorflow", "onnxruntime"
NAMES = [OURS, TENSORFLOW, ONNX, "openvino"]
OPSET = 17


class EngineError(Exception):
    """An engine that is not there, or cannot do what it is told."""


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def settings():
    """A line for each engine: what it is and how it is asked to run."""
    return ["longshore: the engine of the node, one run on so many threads",
            f"tensorflow {version('tensorflow-cpu')}: for each cell the quickest of the signature as loaded, of the same frozen "
            "(convert_variables_to_constants_v2), and of that in a session on the caller's thread; oneDNN on, intra-op as many "
            "threads, inter-op 1",
            f"onnxruntime {version('onnxruntime')}: all graph optimisations, intra-op as many threads, inputs and outputs bound; "
            f"by tf2onnx {version('tf2onnx')}, opset {OPSET}",
            f"openvino {version('openvino')}: from the SavedModel, reshaped to the inputs' shapes, float32, hint LATENCY, as many "
            "threads, tensors shared"]


class Engine:
    """A runner that has loaded a model and answers line by line; see engine/runner.h."""

    def __init__(self, name, command):
        self.name, began = name, time.perf_counter()
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        try:
            said = self._read().split()
        except EngineError:
            self.close()
            raise
        self.load_s = float(said[1])
        # Ours cannot say when its process began: all but the load is the opening, exec included.
        self.open_s = float(said[2]) if len(said) > 2 else time.perf_counter() - began - self.load_s

    def _read(self):
        said = self.process.stdout.readline().strip()
        if not said or said.startswith("error: "):
            raise EngineError(said.removeprefix("error: ") or "it ended")
        return said

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise EngineError("it ended") from None
        return self._read()

    def take(self, name, folder):
        """Inputs, and whatever makes the engine ready for them; the seconds of that."""
        return float(self.ask(f"inputs {name} {folder}"))

    def time(self, name, count=1):
        return [float(seconds) for seconds in self.ask(f"time {name} {count}").split()]

    def tune(self, name):
        """The quickest way to run, of TensorFlow's; what it says of them."""
        return self.ask(f"tune {name}")

    def answers(self, name, folder):
        folder.mkdir(parents=True)
        self.ask(f"save {name} {folder}")
        return {path.stem: np.load(path) for path in folder.glob("*.npy")}

    def allocations(self, name):
        return int(self.ask(f"allocations {name}"))

    def resident_bytes(self):
        return int(self.ask("memory")) * 1024

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # It has ended by itself.
            self.process.stdin.close()
        self.process.wait(timeout=30)


def onnx_of(version_dir, folder) -> pathlib.Path:
    """The model for ONNX Runtime, made once in the folder by this version of tf2onnx."""
    made = folder / f"opset{OPSET}-tf2onnx-{version('tf2onnx')}.onnx"
    if made.exists():
        return made
    say(f"  {version_dir}: for ONNX Runtime, by tf2onnx")
    staging = made.with_suffix(".part")
    done = subprocess.run([sys.executable, "-m", "tf2onnx.convert", "--saved-model", str(version_dir), "--output", str(staging),
                           "--opset", str(OPSET)], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not staging.exists():
        raise EngineError("tf2onnx cannot convert it: " + (done.stderr.strip().splitlines() or ["it says nothing"])[-1])
    return staging.rename(made)


def start(name, version_dir, folder, threads) -> Engine:
    """`folder` keeps what is made of the model."""
    if name == OURS:
        return Engine(name, [BIN / "longshore-engine", version_dir, threads])
    model = onnx_of(version_dir, folder) if name == ONNX else version_dir
    return Engine(name, [sys.executable, HERE / "engine/runner.py", name, model, threads])
