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


def node_of(model: str, *flags: str):
    """A fixture: one node for the whole run that serves the model."""
    @pytest.fixture(scope="session")
    def node(tmp_path_factory):
        yield from serve(model, tmp_path_factory, *flags)
    return node


# y = x / 2 + 2, version 1, one float input; then for pages of other origins; then with runs of a second.
half = node_of("half_plus_two_tf1")
open_half = node_of("half_plus_two_tf1", "--rest_api_enable_cors_support")
slow = node_of("half_plus_two_tf1", "--simulated_run_ms=1000")

# Two outputs, versions up to 5 of which the newest is served; then with numbers as tensor_content.
digits = node_of("digits")
packed = node_of("digits", "--enable_serialization_as_tensor_content=true")

# Strings in; strings, int64 and int32 out.
strings = node_of("strings")

# tf.Examples in: regress_x, regress_x2, classify_x, classify_scores; predict of x -> y = x / 2 + 2.
examples = node_of("examples_tf1")

# A signature for every element type that gives x back as y; also "bytes", "sums" and "two" (a float, b int32).
types = node_of("types")
