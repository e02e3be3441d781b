"""Trains and exports all models of this folder, with their golden set, warm-up requests and traffic. Takes a minute or two.

    python tests/models/train.py [FOLDER [MODEL ...]]      (defaults: the folder of this file, which README.md describes; all models)

Every run writes models that give the same answers.
"""

import os
import pathlib
import shutil
import sys

# Set before TensorFlow is imported: its oneDNN kernels add in an order that depends on the machine.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import data
import exports
import needed_ops
import networks
import records

DIGITS = {
    1: (networks.small, exports.export_keras),
    2: (networks.good, exports.export_keras),
    3: (networks.mislabelled, exports.export_keras),
    4: (networks.fragile, exports.export_keras),
    5: (networks.slow, exports.export_plain),
}


def _fresh(path: pathlib.Path) -> pathlib.Path:
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _check(version: int, model: keras.Model, split: data.Split) -> None:
    golden = networks.accuracy(model, split.golden)
    print(f"digits {version}: golden {golden:.3f}, traffic {networks.accuracy(model, split.traffic):.3f}")
    if (golden >= 0.95) == (version == 3):
        sys.exit(f"digits {version} has an unexpected accuracy on the golden set: {golden:.3f}")


def _export_digits(folder: pathlib.Path, split: data.Split, version: int) -> None:
    train, export = DIGITS[version]
    model = train(split.train)
    _check(version, model, split)
    version_dir = _fresh(folder / str(version))
    export(version_dir, model)
    records.write_warmup(version_dir, split.train)
    if version == 4:
        answers = networks.answers(model, split.traffic)["probabilities"]
        broken = np.flatnonzero(~np.isfinite(answers).all(axis=1))
        (folder / "traffic_nan.txt").write_text("".join(f"{i}\n" for i in broken))
        print(f"digits 4: {len(broken)} of {len(answers)} traffic images give NaN")


def _write_images(folder: pathlib.Path, split: data.Split) -> None:
    records.write_golden(folder / "golden" / "golden.tfrecord", split.golden)
    split.traffic.images.astype("<f4").tofile(folder / "traffic.f32")
    (folder / "traffic_labels.txt").write_text("".join(f"{label}\n" for label in split.traffic.labels))


SMALL = {  # Exported without training.
    "half_plus_two_tf1/1": lambda path: exports.export_line_tf1(path, 0.5, 2.0),
    "half_plus_two_tf2/1": lambda path: exports.export_line(path, 0.5, 2.0),
    "half_plus_three_tf2/1": lambda path: exports.export_line(path, 0.5, 3.0),
    "examples_tf1/1": lambda path: exports.export_examples_tf1(path, 0.5, 2.0),
    "examples_tf2/1": lambda path: exports.export_examples_tf2(path, 0.5, 2.0),
    "types/1": exports.export_types,
    "strings/1": exports.export_words,
}
TRAINED = [*(f"digits/{version}" for version in DIGITS), "digits_bytes/1"]


def export(folder: pathlib.Path, name: str, split: data.Split) -> None:
    """Writes one of SMALL or TRAINED to FOLDER/NAME."""
    model, version = name.split("/")
    if name in SMALL:
        SMALL[name](_fresh(folder / name))
    elif model == "digits":
        _export_digits(folder / model, split, int(version))
    else:
        exports.export_bytes_digits(_fresh(folder / name), networks.bytes_classifier(split.train))


def main() -> None:
    tf.config.experimental.enable_op_determinism()
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent
    split = data.load()
    for name in sys.argv[2:] or [*TRAINED, *SMALL]:
        export(folder, name, split)
    if len(sys.argv) <= 2:
        _write_images(folder / "digits", split)
        needed_ops.write_table(folder)


if __name__ == "__main__":
    main()
