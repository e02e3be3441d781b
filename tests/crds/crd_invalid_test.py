"""What is wrong is refused by the API server itself, with a message that names the field; no webhook is asked."""

import pytest

from api import Refused
from manifests import cases, manifest

INVALID = cases("invalid.yaml")


def test_there_are_enough_of_them():
    assert len(INVALID) >= 150
    assert len({case["name"] for case in INVALID}) == len(INVALID)


@pytest.mark.parametrize("case", INVALID, ids=lambda case: case["name"])
def test_it_is_refused_and_the_field_is_named(api, case):
    with pytest.raises(Refused) as refusal:
        api.try_to_create(case.get("text") or manifest(case["kind"], "m", case["set"]))
    assert case["field"] in str(refusal.value)
    assert case["says"] in str(refusal.value)
