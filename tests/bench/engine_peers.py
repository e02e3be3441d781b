"""The engines of ./dev bench engine, and how each comes to a model."""

import importlib.metadata
import pathlib
import subprocess
import sys

import zoo
from processes import BIN, say

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["mlp", "mobilenet_v2", "resnet50", "densenet121", "inception_v3", "efficientnet_b0", "bert_base", "gpt_step"]


def settings():
    """A line for each engine: what it is and how it is asked to run."""
    version = importlib.metadata.version
    return ["longshore: the engine of the node, one run on so many threads",
            f"tensorflow {version('tensorflow-cpu')}: the signature as a concrete function, oneDNN on, intra-op as many threads, inter-op 1",
            f"onnxruntime {version('onnxruntime')}: all graph optimisations, intra-op as many threads, by tf2onnx {version('tf2onnx')}, opset 17",
            f"openvino {version('openvino')}: from the SavedModel, float32, hint LATENCY, as many threads"]


def onnx_of(model) -> pathlib.Path | None:
    """The model for ONNX Runtime, made once beside the SavedModel; None when it cannot be made."""
    made = zoo.path(model).parent / "model.onnx"
    if made.exists():
        return made
    say(f"  {model}: for ONNX Runtime, by tf2onnx")
    staging = made.with_suffix(".part")
    done = subprocess.run([sys.executable, "-m", "tf2onnx.convert", "--saved-model", str(zoo.path(model)), "--output",
                           str(staging), "--opset", "17"], capture_output=True, check=False)
    if done.returncode != 0 or not staging.exists():
        return None
    staging.rename(made)
    return made


def commands(model, threads):
    """(name, command) of each, ours first."""
    runner = [sys.executable, HERE / "engine/runner.py"]
    found = [("longshore", [BIN / "longshore-engine", zoo.path(model), threads]),
             ("tensorflow", [*runner, "tensorflow", zoo.path(model), threads]),
             ("openvino", [*runner, "openvino", zoo.path(model), threads])]
    onnx = onnx_of(model)
    if onnx is None:
        say(f"  {model}: left out: tf2onnx cannot convert it")
    else:
        found.append(("onnxruntime", [*runner, "onnxruntime", onnx, threads]))
    return found
