"""The API server rejects invalid manifests and statuses without a webhook, with a message that names the field."""

import pytest

from api import GROUP, ApiError
from manifests import cases, manifest

INVALID = cases("invalid.yaml")
INVALID_STATUS = cases("invalid_status.yaml")
COMMAND = {"id": "a", "verb": "pause", "generation": 1}


def test_there_are_enough_cases_with_unique_names():
    assert len(INVALID) >= 150
    assert len({case["name"] for case in INVALID + INVALID_STATUS}) == len(INVALID) + len(INVALID_STATUS)
    for field in ("commands", "answers"):
        assert len([case for case in INVALID_STATUS if field in case["status"]]) >= 20


@pytest.mark.parametrize("case", INVALID, ids=lambda case: case["name"])
def test_an_invalid_manifest_is_rejected_and_the_field_is_named(api, case):
    with pytest.raises(ApiError) as error:
        api.try_to_create(case.get("text") or manifest(case["kind"], "m", case["set"]))
    assert case["field"] in str(error.value)
    assert case["message"] in str(error.value)


@pytest.fixture(scope="module")
def try_status(api):
    """A function that tries to write fields of the status of a Model, as `longshore` does."""
    api.apply(manifest("Model", "commanded", {}))
    yield lambda fields: api.request("PATCH", f"{GROUP}/models/commanded/status", {"status": fields}, "application/merge-patch+json",
                                     dryRun="All", fieldValidation="Strict")["status"]
    api.delete("Model", "commanded")


@pytest.mark.parametrize("case", INVALID_STATUS, ids=lambda case: case["name"])
def test_an_invalid_status_is_rejected_and_the_field_is_named(try_status, case):
    with pytest.raises(ApiError) as error:
        try_status(case["status"])
    assert case["field"] in str(error.value)
    assert case["message"] in str(error.value)


@pytest.mark.parametrize("more", [{}, {"step": 0, "attempt": 0, "at": "2026-11-26T14:00:00.123Z"}, {"id": "x" * 64},
                                  {"verb": "undo", "from": 2, "to": 1}], ids=str)
def test_a_valid_command_is_stored_unchanged(try_status, more):
    command = {**COMMAND, **more}
    assert try_status({"commands": [command]})["commands"] == [command]
