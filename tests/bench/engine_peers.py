"""The engines of ./dev bench engine: starts each with a model and sends it commands."""

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
    """An engine is not installed or cannot execute a command."""


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def settings():
    """Returns a line for each engine: its version and its settings."""
    return ["longshore: the engine of the node, one run on the given number of threads",
            f"tensorflow {version('tensorflow-cpu')}: for each cell the fastest of: the signature as loaded, the signature frozen "
            "(convert_variables_to_constants_v2), and the frozen graph in a session on the thread of the caller; oneDNN on, the "
            "given number of intra-op threads, 1 inter-op thread",
            f"onnxruntime {version('onnxruntime')}: all graph optimisations, the given number of intra-op threads, inputs and outputs bound; "
            f"converted by tf2onnx {version('tf2onnx')}, opset {OPSET}",
            f"openvino {version('openvino')}: from the SavedModel, reshaped to the shapes of the inputs, float32, hint LATENCY, the given "
            "number of threads, shared tensors"]


class Engine:
    """A runner that has loaded a model and answers line by line; see engine/runner.h."""

    def __init__(self, name, command):
        self.name, began = name, time.perf_counter()
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        try:
            fields = self._read().split()
        except EngineError:
            self.close()
            raise
        self.load_s = float(fields[1])
        # Longshore's engine does not report its opening: the opening is then all the time except the load, including exec.
        self.open_s = float(fields[2]) if len(fields) > 2 else time.perf_counter() - began - self.load_s

    def _read(self):
        line = self.process.stdout.readline().strip()
        if not line or line.startswith("error: "):
            raise EngineError(line.removeprefix("error: ") or "the engine exited")
        return line

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise EngineError("the engine exited") from None
        return self._read()

    def take(self, name, folder):
        """Loads inputs and prepares the engine for them. Returns the seconds."""
        return float(self.ask(f"inputs {name} {folder}"))

    def time(self, name, count=1):
        return [float(seconds) for seconds in self.ask(f"time {name} {count}").split()]

    def tune(self, name):
        """Selects the fastest of TensorFlow's ways to run. Returns a text with the time of each."""
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
        with contextlib.suppress(BrokenPipeError):  # The process has already exited.
            self.process.stdin.close()
        self.process.wait(timeout=30)


def onnx_of(version_dir, folder) -> pathlib.Path:
    """Converts the model for ONNX Runtime, once per version of tf2onnx. Returns the file, which is kept in the folder."""
    made = folder / f"opset{OPSET}-tf2onnx-{version('tf2onnx')}.onnx"
    if made.exists():
        return made
    say(f"  {version_dir}: converting for ONNX Runtime with tf2onnx")
    staging = made.with_suffix(".part")
    done = subprocess.run([sys.executable, "-m", "tf2onnx.convert", "--saved-model", str(version_dir), "--output", str(staging),
                           "--opset", str(OPSET)], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not staging.exists():
        raise EngineError("tf2onnx cannot convert it: " + (done.stderr.strip().splitlines() or ["it printed nothing"])[-1])
    return staging.rename(made)


def start(name, version_dir, folder, threads) -> Engine:
    """Starts an engine with the model. `folder` keeps converted models."""
    if name == OURS:
        return Engine(name, [BIN / "longshore-engine", version_dir, threads])
    model = onnx_of(version_dir, folder) if name == ONNX else version_dir
    return Engine(name, [sys.executable, HERE / "engine/runner.py", name, model, threads])
