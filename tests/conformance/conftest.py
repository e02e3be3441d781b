"""Runs a node per model and keeps count of the sentences of docs/contract.md that tests cite."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "judge"))

from calls import serve  # noqa: E402
from contract import sentences  # noqa: E402

def pytest_configure(config):
    config.addinivalue_line("markers", "contract(*names): the sentences of docs/contract.md that the test checks")


def pytest_collection_modifyitems(session, items):
    known = sentences()
    for item in items:
        if "conformance" not in item.path.parts:
            continue
        names = [name for mark in item.iter_markers("contract") for name in mark.args]
        if not names:
            raise pytest.UsageError(f"{item.nodeid} cites no sentence of docs/contract.md")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise pytest.UsageError(f"{item.nodeid} cites {unknown}, which docs/contract.md does not have")
    session.config.cited = {name for item in items for mark in item.iter_markers("contract") for name in mark.args}


@pytest.fixture(scope="session")
def cited(request) -> set[str]:
    return request.config.cited


@pytest.fixture(scope="session")
def half(tmp_path_factory):
    """y = x / 2 + 2, version 1, one float input."""
    yield from serve("half_plus_two_tf1", tmp_path_factory)


@pytest.fixture(scope="session")
def open_half(tmp_path_factory):
    """As half, for pages of other origins."""
    yield from serve("half_plus_two_tf1", tmp_path_factory, "--rest_api_enable_cors_support")


@pytest.fixture(scope="session")
def slow(tmp_path_factory):
    """As half, but every run takes a second."""
    yield from serve("half_plus_two_tf1", tmp_path_factory, "--simulated_run_ms=1000")


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """Two outputs, versions up to 5 of which the newest is served."""
    yield from serve("digits", tmp_path_factory)


@pytest.fixture(scope="session")
def packed(tmp_path_factory):
    """As digits, with numbers as tensor_content."""
    yield from serve("digits", tmp_path_factory, "--enable_serialization_as_tensor_content=true")


@pytest.fixture(scope="session")
def strings(tmp_path_factory):
    """Strings in; strings, int64 and int32 out."""
    yield from serve("strings", tmp_path_factory)


@pytest.fixture(scope="session")
def examples(tmp_path_factory):
    """tf.Examples in: regress_x, regress_x2, classify_x, classify_scores; predict of x -> y = x / 2 + 2."""
    yield from serve("examples_tf1", tmp_path_factory)


@pytest.fixture(scope="session")
def types(tmp_path_factory):
    """A signature for every element type that gives x back as y; also "bytes", "sums" and "two" (a float, b int32)."""
    yield from serve("types", tmp_path_factory)
