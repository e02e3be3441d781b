"""Makes a model of 64 MB in the given folder, as versions 1 and 2."""

import os
import pathlib
import shutil
import sys
import tempfile

import tensorflow as tf

SIDES = (1024, 4096)


class Wide(tf.Module):
    """y = x times four matrices of 16 MB"""

    def __init__(self):
        super().__init__()
        self.layers = [tf.Variable(tf.random.stateless_normal(SIDES[::1 - 2 * (i % 2)], seed=(i, 0)) / 64, name=f"w{i}")
                       for i in range(4)]

    @tf.function(input_signature=[tf.TensorSpec([None, SIDES[0]], tf.float32, name="x")])
    def serve(self, x):
        for layer in self.layers:
            x = tf.nn.relu(x @ layer)
        return {"y": x}


def main(folder: pathlib.Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = pathlib.Path(scratch) / "made"
        wide = Wide()
        tf.saved_model.save(wide, str(made / "1"), signatures=wide.serve)
        shutil.copytree(made / "1", made / "2", copy_function=os.link)
        made.rename(folder)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
