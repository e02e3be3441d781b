"""The quick starts of the README."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICK_STARTS = ("Quick start: one host", "Quick start: Kubernetes", "Quick start: from TensorFlow Serving")
LINES_MAX = 10


def raw_block_of(heading):
    """The lines of the first block of commands below a heading of the README."""
    [section] = re.findall(rf"^## {re.escape(heading)}$(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S)
    return re.search(r"^```sh\n(.*?)^```", section, re.M | re.S)[1].splitlines()


def block_of(heading):
    """The commands of the first block below a heading, without comments. A continued line is one command."""
    lines = [line.partition("  #")[0].rstrip() for line in raw_block_of(heading)]
    return re.sub(r" \\\n\s*", " ", "\n".join(lines)).splitlines()
