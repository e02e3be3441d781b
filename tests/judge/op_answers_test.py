"""The comparison of drawn cases with the golden files finds each kind of difference: other, missing and additional answers."""

import json

import op_answers
import pytest

FAMILY = "numeric"


@pytest.fixture
def family(tmp_path, monkeypatch):
    """A family of three cases, of which TensorFlow rejects the second one, with its files as they are written today."""
    [rejected, *_] = op_answers.rejected()[FAMILY]
    cases = op_answers.cases_of(FAMILY)[rejected - 1:rejected + 2]
    monkeypatch.setattr(op_answers, "FAMILIES", [FAMILY])
    monkeypatch.setattr(op_answers, "cases_of", lambda family: cases)
    monkeypatch.setattr(op_answers, "OUT", tmp_path)
    monkeypatch.setattr(op_answers, "REJECTED", tmp_path / "rejected_cases.json")
    op_answers.write(FAMILY)
    return tmp_path


def _found() -> list[str]:
    return op_answers.miscounted() + op_answers.differences(3, 0)


def _change_rows(family, change) -> None:
    rows = json.loads((family / f"{FAMILY}.json").read_text())
    change(rows)
    (family / f"{FAMILY}.json").write_text(json.dumps(rows))


def test_files_of_today_do_not_differ(family):
    assert json.loads((family / "rejected_cases.json").read_text()) == {FAMILY: [1]}
    assert _found() == []


def test_another_answer_differs(family):
    _change_rows(family, lambda rows: rows[0].update(outputs=[]))
    assert len(_found()) == 1 and "case 0" in _found()[0]


def test_a_row_that_is_missing_differs_even_if_its_case_is_not_drawn(family):
    _change_rows(family, lambda rows: rows.pop())
    assert op_answers.miscounted() == [f"{FAMILY}: {FAMILY}.json has 1 rows for 3 cases, of which TensorFlow rejects 1"]


def test_a_case_that_has_lost_its_answer_differs_and_so_does_one_that_was_rejected(family, monkeypatch):
    answer_case = op_answers.answer_case
    monkeypatch.setattr(op_answers, "answer_case", lambda *case: None)
    assert [text.partition(": ")[2] for text in _found()] == ["rejected, not as in rejected_cases.json"] * 2
    monkeypatch.setattr(op_answers, "answer_case", lambda *case: answer_case(*case) or {"op": "any"})
    assert [text.partition(": ")[2] for text in _found()] == ["answered, not as in rejected_cases.json"]
