"""Makes a model of the given size in MiB in the given folder, as versions 1 and 2."""

import os
import pathlib
import shutil
import sys
import tempfile

import tensorflow as tf

INPUTS = 1024


class Wide(tf.Module):
    """y: x multiplied by four matrices, each followed by ReLU."""

    def __init__(self, megabytes: int):
        super().__init__()
        sides = (INPUTS, megabytes * 2**20 // (4 * 4 * INPUTS))
        self.layers = [tf.Variable(tf.random.stateless_normal(sides[::1 - 2 * (i % 2)], seed=(i, 0)) / 64, name=f"w{i}")
                       for i in range(4)]

    @tf.function(input_signature=[tf.TensorSpec([None, INPUTS], tf.float32, name="x")])
    def serve(self, x):
        for layer in self.layers:
            x = tf.nn.relu(x @ layer)
        return {"y": x}


def main(megabytes: int, folder: pathlib.Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = pathlib.Path(scratch) / "made"
        wide = Wide(megabytes)
        tf.saved_model.save(wide, str(made / "1"), signatures=wide.serve)
        shutil.copytree(made / "1", made / "2", copy_function=os.link)
        made.rename(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), pathlib.Path(sys.argv[2]))
