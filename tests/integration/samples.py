"""The manifests that we show to people: the files of deploy/samples, and the example in `longshore-controller --help`."""

import pathlib
import re
import subprocess

from harness import BIN, ROOT

SAMPLES = sorted(ROOT.glob("deploy/samples/**/*.yaml"))
FOR_ONE_HOST = [path for path in SAMPLES if path.parent.name == "samples"]
COLUMN_GAP = 2  # Spaces before an object.


def example_of_help():
    """The example of the help as one YAML text. The help shows two objects side by side."""
    text = subprocess.run([BIN / "longshore-controller", "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    lines = re.search(r"^  apiVersion: .*?(?=^$)", text, re.M | re.S)[0].splitlines()
    right = lines[0].rindex("apiVersion:")
    columns = [[line[COLUMN_GAP:right].rstrip() for line in lines], [line[right:] for line in lines]]
    return "\n---\n".join("\n".join(filter(None, column)) for column in columns) + "\n"


def write_example(folder):
    path = pathlib.Path(folder) / "help.yaml"
    path.write_text(example_of_help())
    return path
