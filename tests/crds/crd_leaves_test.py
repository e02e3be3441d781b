"""Every leaf of the schemas against a real API server: it is kept as it was written, and taking it away heals."""

import json

import pytest

from api import Refused
from manifests import cases, get, manifest

LEAVES = cases("leaves.yaml")


def name_of(leaf):
    return f"{leaf['kind']} {leaf['leaf']} {json.dumps(leaf['value'])[:20]}"


def without(leaf):
    fields = dict(leaf.get("with", {}))
    if "from" in leaf:
        fields[leaf["leaf"]] = leaf["from"]
    return manifest(leaf["kind"], "m", fields)


def with_it(leaf):
    return manifest(leaf["kind"], "m", {**leaf.get("with", {}), leaf["leaf"]: leaf["value"]})


@pytest.mark.parametrize("leaf", LEAVES, ids=name_of)
def test_a_leaf_is_kept_and_makes_another_object(api, leaf):
    plain, changed = api.try_to_create(without(leaf)), api.try_to_create(with_it(leaf))
    kept = get(changed, leaf["leaf"])
    # An empty mapping is filled with the defaults of what is in it.
    assert kept == leaf["value"] or (leaf["value"] == {} and isinstance(kept, dict))
    assert (plain["spec"] != changed["spec"]) or "same" in leaf


@pytest.mark.parametrize("leaf", LEAVES, ids=name_of)
def test_taking_a_field_away_heals(api, leaf):
    """Back to what it was, be the leaf optional or part of something that is."""
    before = without(leaf) if "from" not in leaf else manifest(leaf["kind"], "m", {})
    try:
        plain = api.apply(before)
        changed = api.apply(with_it(leaf))
        healed = api.apply(before)
    finally:
        api.delete(leaf["kind"], "m")
    assert healed["spec"] == plain["spec"]
    assert healed["metadata"]["generation"] == (1 if plain["spec"] == changed["spec"] else 3)


@pytest.mark.parametrize("kind", ["Model", "ServingFleet"])
def test_kubectl_apply_heals_too(control_plane, api, kind):
    """All leaves that go together at once, then none of them, by the apply that people use."""
    everything = {}
    for leaf in LEAVES:
        fields = {**everything, **leaf.get("with", {}), leaf["leaf"]: leaf["value"]}
        if leaf["kind"] == kind and is_taken(api, manifest(kind, "all", fields)):
            everything = fields
    assert len(everything) > 25
    specs = []
    for fields in ({}, everything, {}):
        control_plane.kubectl("apply", "-f", "-", input=json.dumps(manifest(kind, "all", fields)))
        specs.append(json.loads(control_plane.kubectl("get", kind, "all", "-o", "json"))["spec"])
    assert specs[0] != specs[1]
    assert specs[0] == specs[2]


def is_taken(api, whole):
    try:
        api.try_to_create(whole)
        return True
    except Refused:
        return False
