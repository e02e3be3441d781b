"""The API server rejects invalid manifests without a webhook, with a message that names the field."""

import pytest

from api import ApiError
from manifests import cases, manifest

INVALID = cases("invalid.yaml")


def test_there_are_enough_cases_with_unique_names():
    assert len(INVALID) >= 150
    assert len({case["name"] for case in INVALID}) == len(INVALID)


@pytest.mark.parametrize("case", INVALID, ids=lambda case: case["name"])
def test_an_invalid_manifest_is_rejected_and_the_field_is_named(api, case):
    with pytest.raises(ApiError) as error:
        api.try_to_create(case.get("text") or manifest(case["kind"], "m", case["set"]))
    assert case["field"] in str(error.value)
    assert case["message"] in str(error.value)
