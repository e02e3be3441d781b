"""Models that only the benchmark needs."""

import os
import pathlib
import subprocess

from processes import ROOT, say


def made_model(kind: str, size: int) -> pathlib.Path:
    """Returns the folder of a model of make_model.py with two versions. TensorFlow makes it once; the cache keeps it."""
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    cache = caches / f"longshore/bench/{kind}_{size}"
    if not cache.exists():
        say(f"  making the model {cache.name}")
        command = [os.environ["LONGSHORE_PYTHON"], ROOT / "tests/bench/make_model.py", kind, str(size), cache]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cache
