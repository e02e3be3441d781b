"""Typical models in their real sizes: exported once by real TensorFlow into the cache folder, not into git.

    python tests/models/zoo.py                  exports all models that are missing, and prints their paths
    python tests/models/zoo.py lstm resnet50    exports only these
    python tests/models/zoo.py --list           lists the models
    python tests/models/zoo.py --into DIR       also copies each to DIR/NAME/1

As a module: `zoo.MODELS`, `zoo.path(name)` (a version directory), `zoo.inputs(name, batch)` (numpy arrays, the same
ones at every call). The weights are random, from fixed seeds: tests compare numbers and need no meaningful answers.
TensorFlow is imported only for an export.
"""

import argparse
import dataclasses
import hashlib
import importlib
import importlib.metadata
import os
import pathlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import zoo_inputs

HERE = pathlib.Path(__file__).resolve().parent
UNUSED_SECONDS_MAX = 7 * 86400
PACKAGES = ("tensorflow-cpu", "keras", "numpy")  # The packages whose versions the bytes of an export depend on.


@dataclasses.dataclass(frozen=True)
class Model:
    about: str
    module: str  # Has a function with the name of the model, which exports it to a path.
    inputs: Callable[[int], dict[str, np.ndarray]]
    is_large: bool = False  # Takes seconds to export and has more than 10 MB.


MODELS = {
    "resnet50": Model("ResNet50, 224x224", "zoo_vision", zoo_inputs.images(224), is_large=True),
    "mobilenet_v2": Model("MobileNetV2, 224x224", "zoo_vision", zoo_inputs.images(224), is_large=True),
    "efficientnet_b0": Model("EfficientNetB0, 224x224, bytes 0..255", "zoo_vision", zoo_inputs.images(224, 255),
                             is_large=True),
    "inception_v3": Model("InceptionV3, 299x299", "zoo_vision", zoo_inputs.images(299), is_large=True),
    "densenet121": Model("DenseNet121, 224x224", "zoo_vision", zoo_inputs.images(224), is_large=True),
    "jpeg": Model("JPEG files as input, decoded and resized by the graph", "zoo_vision", zoo_inputs.jpegs),
    "bert_base": Model("an encoder of BERT-base's size: 12 layers of 768, 12 heads", "zoo_language",
                       zoo_inputs.sentences, is_large=True),
    "gpt_step": Model("one step of a decoder; keys and values of earlier steps are inputs and outputs", "zoo_language",
                      zoo_inputs.decoder_step),
    "lstm": Model("Embedding, masking, LSTM", "zoo_language", zoo_inputs.padded_words),
    "gru": Model("Embedding, masking, GRU in both directions", "zoo_language", zoo_inputs.padded_words),
    "mlp": Model("784-512-512-10", "zoo_tables", zoo_inputs.pixels),
    "wide_deep": Model("wide and deep over Keras' preprocessing layers", "zoo_tables", zoo_inputs.customers),
    "parse_example": Model("tf.Examples as input, with dense and sparse features", "zoo_tables", zoo_inputs.examples),
    "tf1_table": Model("a session of TensorFlow 1: reference variables, a table from an asset", "zoo_tables",
                       zoo_inputs.words),
    "branches": Model("nested If and While", "zoo_tables", zoo_inputs.numbers),
}


def _hash(name: str) -> str:
    """A hash of everything that the export depends on: the modules and the package versions."""
    digest = hashlib.sha256()
    for module in (MODELS[name].module, "zoo_inputs"):
        digest.update((HERE / f"{module}.py").read_bytes())
    for package in PACKAGES:
        digest.update(f"{package}=={importlib.metadata.version(package)}".encode())
    return digest.hexdigest()[:12]


def _cache() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "longshore" / "models"


def _export(name: str, model_dir: pathlib.Path, say: Callable[[str], None]) -> None:
    """Exports into a temporary folder and moves it to model_dir, so that model_dir is always complete."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    model_dir.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    say(f"{name}: exporting {MODELS[name].about}")
    module = importlib.import_module(MODELS[name].module)
    with tempfile.TemporaryDirectory(dir=model_dir.parent, prefix=f".{name}-") as staging:
        getattr(module, name)(pathlib.Path(staging) / "model" / "1")
        try:
            (pathlib.Path(staging) / "model").rename(model_dir)
        except OSError:
            if not model_dir.exists():  # Otherwise another process exported the same model first.
                raise
    _delete_unused(name, model_dir)
    say(f"{name}: exported in {time.monotonic() - began:.0f} s")


def _delete_unused(name: str, model_dir: pathlib.Path) -> None:
    """Deletes exports of other versions of the code that were not used lately. Recent ones stay: another clone may use them."""
    for other in model_dir.parent.glob(f"{name}-*"):
        if other != model_dir and time.time() - other.stat().st_mtime > UNUSED_SECONDS_MAX:
            shutil.rmtree(other, ignore_errors=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def path(name: str, say: Callable[[str], None] = _say) -> pathlib.Path:
    """The version directory; exports the model if it is not in the cache. The parent is the base path of the model."""
    model_dir = _cache() / f"{name}-{_hash(name)}"
    if not model_dir.exists():
        _export(name, model_dir, say)
    os.utime(model_dir)
    return model_dir / "1"


def inputs(name: str, batch: int) -> dict[str, np.ndarray]:
    """Inputs of serving_default with `batch` rows."""
    return MODELS[name].inputs(batch)


def _list() -> None:
    for name, model in MODELS.items():
        print(f"{name:16} {'large' if model.is_large else 'small':6} {model.about}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the models to export; default: all")
    parser.add_argument("--list", action="store_true", help="print the names and descriptions of the models")
    parser.add_argument("--into", type=pathlib.Path, metavar="DIR", help="copy each model to DIR/NAME/1")
    flags = parser.parse_args()
    if unknown := sorted(set(flags.names) - MODELS.keys()):
        parser.error(f"unknown model: {', '.join(unknown)}; the models are: {', '.join(MODELS)}")
    if flags.list:
        return _list()
    for name in flags.names or MODELS:
        version_dir = path(name)
        if flags.into:
            shutil.copytree(version_dir.parent, flags.into / name, dirs_exist_ok=True)
            version_dir = flags.into / name / "1"
        print(version_dir)


if __name__ == "__main__":
    main()
