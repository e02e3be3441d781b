"""Fixtures with one node per model, and the check that the tests cite every sentence of docs/contract.md."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "judge"))

from calls import serve  # noqa: E402
from contract import sentences  # noqa: E402

def pytest_configure(config):
    config.addinivalue_line("markers", "contract(*names): the sentences of docs/contract.md that the test checks")
    config.checked_sentences = set()


def sentences_of(item):
    return [name for mark in item.iter_markers("contract") for name in mark.args]


def pytest_collection_modifyitems(session, items):
    known = sentences()
    for item in items:
        if "conformance" not in item.path.parts:
            continue
        names = sentences_of(item)
        if not names:
            raise pytest.UsageError(f"{item.nodeid} cites no sentence of docs/contract.md")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise pytest.UsageError(f"{item.nodeid} cites {unknown}, which is not in docs/contract.md")
    items.sort(key=lambda item: item.path.name == "contract_test.py")  # Last: it reads what the others have checked.


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that is skipped or fails has checked no sentence."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.passed:
        item.config.checked_sentences.update(sentences_of(item))


def node_of(model: str, *flags: str):
    """A fixture: a node that serves the model during the whole test run."""
    @pytest.fixture(scope="session")
    def node(tmp_path_factory):
        yield from serve(model, tmp_path_factory, *flags)
    return node


# y = x / 2 + 2, version 1, one float input. The second node has CORS enabled; a run on the third takes a second.
half = node_of("half_plus_two_tf1")
open_half = node_of("half_plus_two_tf1", "--rest_api_enable_cors_support")
slow = node_of("half_plus_two_tf1", "--simulated_run_ms=1000")

# Two outputs; serves version 5, the newest. The second node returns numbers as tensor_content.
digits = node_of("digits")
packed = node_of("digits", "--enable_serialization_as_tensor_content=true")

# Input: strings. Outputs: strings, int64 and int32.
strings = node_of("strings")

# The signatures regress_x, regress_x2, classify_x and classify_scores take tf.Examples; serving_default is y = x / 2 + 2.
examples = node_of("examples_tf1")

# For each element type a signature that returns its input x as y. Also "bytes", "sums" and "two" (inputs a float, b int32).
types = node_of("types")
