"""Makes a model for ./dev bench serving in the given folder, as versions 1 and 2: make_model.py KIND SIZE FOLDER."""

import os
import pathlib
import shutil
import sys
import tempfile

import tensorflow as tf

WIDTH = 1024
SQUARE = 256


class Wide(tf.Module):
    """y: x multiplied by four matrices of `megabytes` MiB together, each followed by ReLU. A run reads all of them."""

    def __init__(self, megabytes: int):
        super().__init__()
        sides = (WIDTH, megabytes * 2**20 // (4 * 4 * WIDTH))
        self.layers = [tf.Variable(tf.random.stateless_normal(sides[::1 - 2 * (i % 2)], seed=(i, 0)) / 64, name=f"w{i}")
                       for i in range(4)]

    @tf.function(input_signature=[tf.TensorSpec([None, WIDTH], tf.float32, name="x")])
    def serve(self, x):
        for layer in self.layers:
            x = tf.nn.relu(x @ layer)
        return {"y": x}


class Deep(tf.Module):
    """y: x multiplied `layers` times by one matrix of 256 KiB, which stays in the processor's cache."""

    def __init__(self, layers: int):
        super().__init__()
        self.layers = layers
        self.matrix = tf.Variable(tf.random.stateless_normal((SQUARE, SQUARE), seed=(0, 0)) / 16, name="w")

    @tf.function(input_signature=[tf.TensorSpec([None, SQUARE], tf.float32, name="x")])
    def serve(self, x):
        for _ in range(self.layers):
            x = tf.nn.relu(x @ self.matrix)
        return {"y": x}


class Shorten(tf.Module):
    """y: the first `floats` numbers of each row of x."""

    def __init__(self, floats: int):
        super().__init__()
        self.floats = floats

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32, name="x")])
    def serve(self, x):
        return {"y": x[:, :self.floats]}


class Repeat(tf.Module):
    """y: each row of x `times` times, one after the other."""

    def __init__(self, times: int):
        super().__init__()
        self.times = times

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32, name="x")])
    def serve(self, x):
        return {"y": tf.tile(x, [1, self.times])}


KINDS = {"wide": Wide, "deep": Deep, "shorten": Shorten, "repeat": Repeat}


def main(kind: str, size: int, folder: pathlib.Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = pathlib.Path(scratch) / "made"
        model = KINDS[kind](size)
        tf.saved_model.save(model, str(made / "1"), signatures=model.serve)
        shutil.copytree(made / "1", made / "2", copy_function=os.link)
        made.rename(folder)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3]))
