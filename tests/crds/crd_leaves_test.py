"""Every leaf of the schemas on a real API server: its value is stored unchanged, and removing it restores the object."""

import json

import pytest

from api import ApiError
from manifests import cases, get, manifest

LEAVES = cases("leaves.yaml")


def name_of(leaf):
    return f"{leaf['kind']} {leaf['leaf']} {json.dumps(leaf['value'])[:20]}"


def without_leaf(leaf):
    fields = dict(leaf.get("with", {}))
    if "from" in leaf:
        fields[leaf["leaf"]] = leaf["from"]
    return manifest(leaf["kind"], "m", fields)


def with_leaf(leaf):
    return manifest(leaf["kind"], "m", {**leaf.get("with", {}), leaf["leaf"]: leaf["value"]})


@pytest.mark.parametrize("leaf", LEAVES, ids=name_of)
def test_a_leaf_is_stored_and_changes_the_object(api, leaf):
    plain, changed = api.try_to_create(without_leaf(leaf)), api.try_to_create(with_leaf(leaf))
    kept = get(changed, leaf["leaf"])
    # An empty mapping is filled with the defaults of its fields.
    assert kept == leaf["value"] or (leaf["value"] == {} and isinstance(kept, dict))
    assert (plain["spec"] != changed["spec"]) or "same" in leaf


@pytest.mark.parametrize("leaf", LEAVES, ids=name_of)
def test_removing_a_field_restores_the_object(api, leaf):
    """Also if the leaf is required and part of an optional object."""
    before = without_leaf(leaf) if "from" not in leaf else manifest(leaf["kind"], "m", {})
    try:
        plain = api.apply(before)
        changed = api.apply(with_leaf(leaf))
        restored = api.apply(before)
    finally:
        api.delete(leaf["kind"], "m")
    assert restored["spec"] == plain["spec"]
    assert restored["metadata"]["generation"] == (1 if plain["spec"] == changed["spec"] else 3)


@pytest.mark.parametrize("kind", ["Model", "ServingFleet"])
def test_removing_all_fields_with_kubectl_apply_restores_the_object(control_plane, api, kind):
    """Applies all leaves that can be combined, then none of them, with client-side apply."""
    everything = {}
    for leaf in LEAVES:
        fields = {**everything, **leaf.get("with", {}), leaf["leaf"]: leaf["value"]}
        if leaf["kind"] == kind and is_accepted(api, manifest(kind, "all", fields)):
            everything = fields
    assert len(everything) > 25
    specs = []
    for fields in ({}, everything, {}):
        control_plane.kubectl("apply", "-f", "-", input=json.dumps(manifest(kind, "all", fields)))
        specs.append(json.loads(control_plane.kubectl("get", kind, "all", "-o", "json"))["spec"])
    assert specs[0] != specs[1]
    assert specs[0] == specs[2]


def is_accepted(api, whole):
    try:
        api.try_to_create(whole)
        return True
    except ApiError:
        return False
