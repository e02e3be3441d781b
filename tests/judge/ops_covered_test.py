"""Every op that has no answered golden case occurs in a model that the judge's tests answer."""

import pathlib
import re

import pytest

import judge_text_tables_test
import needed_ops
from serving import ROOT
from unseen_control import CONTROL, MAY_BE_REJECTED

MODELS = ROOT / "tests" / "models"


def _without_golden_case() -> list[str]:
    """Returns the ops that the test of the golden cases in ops_test.cc exempts."""
    source = (ROOT / "serving-node/engine/interpreter/ops_test.cc").read_text()
    names = re.findall(r'"(\w+)"', re.search(r"known = \{(.*?)\}", source, re.DOTALL).group(1))
    assert names
    return names


def _ops(version_dir: pathlib.Path) -> set[str]:
    return set().union(*needed_ops.ops_of(version_dir).values())


@pytest.fixture(scope="module")
def answered_ops(tmp_path_factory) -> set[str]:
    """Returns the ops of the committed models (judge_models_test.py answers them all), of one table (judge_text_tables_test.py) and
    of one unseen model (judge_unseen_test.py)."""
    folder = tmp_path_factory.mktemp("models")
    ops = set().union(*(_ops(version_dir) for version_dir in needed_ops.version_dirs(MODELS)))
    judge_text_tables_test.CASES["the ops of TensorFlow 1"].export(folder / "table", folder / "words.txt")
    assert "old_assert" not in MAY_BE_REJECTED
    CONTROL["old_assert"].export(folder / "assert")
    return ops | _ops(folder / "table") | _ops(folder / "assert")


@pytest.mark.parametrize("op", _without_golden_case())
def test_an_op_without_a_golden_case_is_in_an_answered_model(op, answered_ops):
    assert op in answered_ops
