"""The programs of the previous release and of this tree. `./dev upgrade` builds both, and names their folders."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("tests/cluster", "tests/conformance", "tests/integration", "tests/demo", "deploy/release")]

import harness  # noqa: E402
import releases  # noqa: E402


@pytest.fixture(scope="session")
def previous() -> pathlib.Path:
    """The programs of the previous release. The folder `crds` beside them has its kinds."""
    folder = os.environ.get("LONGSHORE_PREVIOUS")
    if not folder:
        assert releases.previous() is None, "LONGSHORE_PREVIOUS is not set: run ./dev upgrade"
        pytest.skip("no release is recorded")
    return pathlib.Path(folder).resolve()


@pytest.fixture(scope="session")
def present() -> pathlib.Path:
    return harness.BIN.resolve()
