"""This tree reads what the previous release wrote, and the other way round: messages (proto/) and custom resources (crds/)."""

import copy
import io
import json
import os
import pathlib
import subprocess
import tarfile

import pytest
import releases
from compatibility import broken_kind, broken_messages, types_of, unreviewed
from google.protobuf.descriptor_pb2 import FileDescriptorSet

ROOT = releases.REPOSITORY
KUBERNETES = pathlib.Path(os.environ.get("LONGSHORE_KUBERNETES", ""))
# Changes of kinds since the previous release that were reviewed: sentence of the test -> why no stored object is lost by it, for example
# because the controller of the previous release rejects such objects, too. Once the next release is recorded, the rows must be removed.
REVIEWED: dict[str, str] = {
    "ServingFleet v1alpha1.spec: has the new rule has(self.autoscaling) || !has(self.replicas) || !has(self.replicas.max) || "
    "self.replicas.max <= (has(self.replicas.min) ? self.replicas.min : 1)":
        "it replaces a rule with == and is weaker; another rule asks for max at least min",
    "Model v1alpha1.spec.rollout: has the new rule "
    "!has(self.steps) || !self.steps.exists(s, has(s.proof) && s.proof == 'Required') || ((!self.analysis.latency.enabled || "
    "self.analysis.latency.tolerance > 0.0) && (!self.analysis.errorRate.enabled || !has(self.analysis.errorRate.tolerance) || "
    "self.analysis.errorRate.tolerance > 0.0 || !has(self.analysis.errorRate.relativeTolerance) || "
    "self.analysis.errorRate.relativeTolerance > 0.0))":
        "only an object with the new field proof can break the rule",
    "Model v1alpha1.spec: has the new rule !has(self.labels) || !('preview' in self.labels) || !has(self.rollout) || "
    "self.rollout.strategy != 'BlueGreen'":
        "only an object with a new strategy can break the rule",
    "Model v1alpha1.spec.rollout: has the new rule !has(self.steps) || !(self.strategy in ['Shadow', 'BlueGreen'])":
        "only an object with a new strategy can break the rule",
    "Model v1alpha1.spec.rollout: has the new rule !has(self.shadow) || self.strategy != 'Immediate'":
        "only an object with the new field shadow can break the rule",
    "Model v1alpha1.spec.rollout: has the new rule !has(self.preview) || self.strategy == 'BlueGreen'":
        "only an object with the new field preview can break the rule",
    "Model v1alpha1.spec.rollout: has the new rule !has(self.strategy) || self.strategy != 'BlueGreen' || self.assignment.by != 'Header' || "
    "!has(self.assignment.key) || self.assignment.key.lowerAscii() != (has(self.preview) && has(self.preview.header) ? "
    "self.preview.header.lowerAscii() : 'x-longshore-preview')":
        "only an object with a new strategy can break the rule",
    "Model v1alpha1.spec.rollout: has the new rule !has(self.onInconclusive) || self.onInconclusive != 'Promote' || "
    "self.strategy != 'Shadow'":
        "only an object with a new strategy can break the rule",
    "Model v1alpha1.spec.rollout: has the new rule !has(self.shadow) || !has(self.shadow.proof) || self.shadow.proof != "
    "'Required' || ((!self.analysis.latency.enabled || self.analysis.latency.tolerance > 0.0) && "
    "(!self.analysis.errorRate.enabled || !has(self.analysis.errorRate.tolerance) || self.analysis.errorRate.tolerance > "
    "0.0 || !has(self.analysis.errorRate.relativeTolerance) || self.analysis.errorRate.relativeTolerance > 0.0))":
        "only an object with the new field shadow can break the rule",
    "Model v1alpha1.spec.rollout: has the new rule !has(self.shadow) || !has(self.shadow.compare) || "
    "!(has(self.shadow.proof) && self.shadow.proof == 'Required' || has(self.steps) && self.steps.exists(s, has(s.proof) "
    "&& s.proof == 'Required')) || self.shadow.compare.all(c, !has(c.rows) || c.rows < 1.0)":
        "only an object with the new field shadow can break the rule",
}


@pytest.fixture(scope="module")
def previous(tmp_path_factory) -> pathlib.Path:
    """The folders proto and crds of the previous release."""
    release = releases.previous()
    if not release:
        pytest.skip("no release is recorded")
    folder = tmp_path_factory.mktemp("previous")
    archive = subprocess.run(["git", "-C", ROOT, "archive", releases.commit_of(release), "proto", "crds"], check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder)
    return folder


def messages_of(folder: pathlib.Path) -> FileDescriptorSet:
    """The descriptors of all .proto files of a folder."""
    files = sorted(path.relative_to(folder) for path in folder.rglob("*.proto"))
    assert files
    compiled = subprocess.run(["protoc", "--descriptor_set_out=/dev/stdout", "--proto_path=.", *files], cwd=folder, check=True, capture_output=True)
    return FileDescriptorSet.FromString(compiled.stdout)


def kinds_of(folder: pathlib.Path) -> dict[str, dict]:
    """Kind -> its CustomResourceDefinition. kubectl turns the YAML into JSON."""
    found = {}
    for path in sorted(folder.glob("*.yaml")):
        command = [KUBERNETES / "kubectl", "label", "--local", f"--filename={path}", "compared=yes", "--output=json"]
        definition = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        found[definition["spec"]["names"]["kind"]] = definition
    assert found
    return found


def test_messages_are_compatible_with_the_previous_release(previous: pathlib.Path):
    assert broken_messages(messages_of(previous / "proto"), messages_of(ROOT / "proto")) == []


def test_kinds_are_compatible_with_the_previous_release(previous: pathlib.Path):
    old, new = kinds_of(previous / "crds"), kinds_of(ROOT / "crds")
    assert [f"{kind} was removed" for kind in old if kind not in new] == []
    assert unreviewed([sentence for kind in old for sentence in broken_kind(old[kind], new[kind])], REVIEWED) == []


PROTO = """syntax = "proto3";
package p;
service Store { rpc Get(Item) returns (Item); }
enum State { UNKNOWN = 0; READY = 1; }
message Item {
  reserved 7; reserved "gone";
  string name = 1;
  repeated int64 sizes = 2;
  oneof content { string text = 3; bytes data = 4; }
  State state = 5;
}
message Root { Item item = 1; }
"""


def compiled(folder: pathlib.Path, text: str) -> FileDescriptorSet:
    folder.mkdir()
    (folder / "p.proto").write_text(text)
    return messages_of(folder)


@pytest.mark.parametrize(("change", "message"), [
    (("string name = 1;", "string title = 1;"), "p.Item.name = 1 is now title"),
    (("string name = 1;", "string name = 9;"), "p.Item.name = 1 was removed"),
    (("string name = 1;", ""), 'p.Item.name = 1 was removed: add "reserved 1;"'),
    (("string name = 1;", "reserved 1;"), "p.Item.name = 1 was removed"),
    (("string name = 1;", "int64 name = 1;"), "p.Item.name has another type"),
    (("repeated int64 sizes", "int64 sizes"), "p.Item.sizes has another type"),
    (("oneof content { string text = 3;", "string text = 3; oneof content {"), "p.Item.text has another type"),
    (("State state = 5;", "int32 state = 5;"), "p.Item.state has another type"),
    (("READY = 1;", "READY = 2;"), "p.State.READY = 1 was removed"),
    (("READY = 1;", "DONE = 1;"), "p.State.READY = 1 is now DONE"),
    (("reserved 7;", ""), "p.Item no longer reserves 7"),
    (("message Root { Item item = 1; }", ""), "p.Root was removed"),
    (("returns (Item)", "returns (stream Item)"), "p.Store.Get was removed or has other messages"),
])
def test_an_incompatible_change_of_a_message_is_found(tmp_path: pathlib.Path, change: tuple[str, str], message: str):
    assert change[0] in PROTO
    found = broken_messages(compiled(tmp_path / "old", PROTO), compiled(tmp_path / "new", PROTO.replace(*change)))
    assert len(found) == 1 and message in found[0]


@pytest.mark.parametrize("change", [
    ("string name = 1;", "string name = 1; string label = 8; optional int64 size = 9;"),
    ("string name = 1;", 'reserved 1; reserved "name";'),
    ("READY = 1;", "READY = 1; LOST = 2;"),
    ("READY = 1;", 'reserved 1; reserved "READY";'),
    ("message Root", "message More { string x = 1; }\nmessage Root"),
])
def test_a_compatible_change_of_a_message_is_accepted(tmp_path: pathlib.Path, change: tuple[str, str]):
    assert change[0] in PROTO
    assert broken_messages(compiled(tmp_path / "old", PROTO), compiled(tmp_path / "new", PROTO.replace(*change))) == []


SCHEMA = {"type": "object", "required": ["spec"], "properties": {
    "spec": {"type": "object", "properties": {
        "mode": {"type": "string", "enum": ["Auto", "None"]},
        "weight": {"type": "number", "minimum": 0, "maximum": 100, "multipleOf": 10, "default": 50, "nullable": True},
        "steps": {"type": "array", "maxItems": 4, "items": {"type": "object", "properties": {"hold": {"type": "string"}}}},
        "nodes": {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}},
        "labels": {"type": "object", "additionalProperties": True},
        "address": {"type": "string", "pattern": "^[a-z]+$", "not": {"maxLength": 0},
                    "x-kubernetes-validations": [{"rule": "self != 'a'", "message": "Not a."}, {"rule": "self != 'b'"}]},
        "analysis": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}
MODE, WEIGHT, STEPS, NODES, LABELS, ADDRESS = (f"spec.properties.{name}" for name in ("mode", "weight", "steps", "nodes", "labels", "address"))
RULES = "x-kubernetes-validations"


def kind_with(schema: dict) -> dict:
    return {"spec": {"group": "g", "scope": "Namespaced", "names": {"kind": "Item"},
                     "versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}]}}


def changed(path: str, **values) -> dict:
    """SCHEMA with `values` at the path below its properties; None removes a key."""
    schema = copy.deepcopy(SCHEMA)
    place = schema["properties"]
    for name in path.split("."):
        place = place[name]
    for key, value in values.items():
        place.pop(key, None) if value is None else place.update({key: value})
    return kind_with(schema)


@pytest.mark.parametrize(("new", "message"), [
    (changed("spec.properties", mode=None), "Item v1.spec.mode was removed"),
    (changed(f"{STEPS}.items.properties", hold=None), "Item v1.spec.steps.items.hold was removed"),
    (changed(f"{STEPS}.items.properties.hold", type="integer"), "Item v1.spec.steps.items.hold: type was string, is integer"),
    (changed(f"{NODES}.additionalProperties", format="int32"), "format was int64, is int32"),
    (changed(NODES, additionalProperties=None), "Item v1.spec.nodes: additionalProperties was removed"),
    (changed(NODES, additionalProperties=False), "Item v1.spec.nodes: additionalProperties was removed"),
    (changed(LABELS, additionalProperties={"type": "string"}), "Item v1.spec.labels: additionalProperties accepts fewer values"),
    (changed(STEPS, items=None), "Item v1.spec.steps: items was removed"),
    (changed("spec", required=["mode"]), "Item v1.spec: mode is now required"),
    (changed(MODE, enum=["Auto"]), "Item v1.spec.mode: the enum no longer has None"),
    (changed(f"{STEPS}.items.properties.hold", enum=["1s"]), "the enum no longer has any value"),
    (changed(WEIGHT, maximum=50), "Item v1.spec.weight: maximum fell from 100 to 50"),
    (changed(WEIGHT, minimum=1), "Item v1.spec.weight: minimum rose from 0 to 1"),
    (changed(f"{STEPS}.items.properties.hold", maxLength=9), "maxLength fell from None to 9"),
    (changed("spec.properties.analysis", **{"x-kubernetes-preserve-unknown-fields": None}), "unknown fields are no longer kept"),
    (changed(ADDRESS, pattern="^[a-z]$"), "Item v1.spec.address: pattern was ^[a-z]+$, is ^[a-z]$"),
    (changed(MODE, pattern="^A"), "Item v1.spec.mode: pattern was None, is ^A"),
    (changed(ADDRESS, **{"not": {"maxLength": 1}}), "Item v1.spec.address: not was {'maxLength': 0}, is {'maxLength': 1}"),
    (changed(MODE, anyOf=[{"maxLength": 3}]), "Item v1.spec.mode: anyOf was None"),
    (changed(ADDRESS, **{RULES: [{"rule": "self != 'a'"}, {"rule": "self != 'c'"}]}), "Item v1.spec.address: has the new rule self != 'c'"),
    (changed(MODE, **{RULES: [{"rule": "false"}]}), "Item v1.spec.mode: has the new rule false"),
    (changed(WEIGHT, exclusiveMaximum=True), "Item v1.spec.weight: maximum itself is no longer accepted"),
    (changed(WEIGHT, exclusiveMinimum=True), "Item v1.spec.weight: minimum itself is no longer accepted"),
    (changed(WEIGHT, multipleOf=20), "Item v1.spec.weight: multipleOf was 10, is 20"),
    (changed(f"{NODES}.additionalProperties", multipleOf=2), "multipleOf was None, is 2"),
    (changed(WEIGHT, nullable=None), "Item v1.spec.weight: null is no longer accepted"),
    (changed(STEPS, uniqueItems=True), "Item v1.spec.steps: equal items are no longer accepted"),
    (changed(WEIGHT, default=40), "Item v1.spec.weight: default was 50, is 40"),
    (changed(WEIGHT, default=None), "Item v1.spec.weight: default was 50, is None"),
])
def test_an_incompatible_change_of_a_kind_is_found(new: dict, message: str):
    found = broken_kind(kind_with(SCHEMA), new)
    assert len(found) == 1 and message in found[0]


@pytest.mark.parametrize("new", [
    changed(MODE, enum=["Auto", "None", "Fixed"]), changed(MODE, enum=None), changed(WEIGHT, maximum=None, minimum=-1),
    changed("spec.properties", label={"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}),
    changed("spec", description="More words."),
    changed(ADDRESS, pattern=None, **{"not": None, RULES: [{"rule": "self != 'b'"}, {"rule": "self != 'a'", "message": "Other words."}]}),
    changed(WEIGHT, maximum=200, exclusiveMaximum=True), changed(WEIGHT, multipleOf=5), changed(WEIGHT, multipleOf=None),
    changed(MODE, nullable=True, default="Auto"), changed(NODES, additionalProperties=True), changed(LABELS, uniqueItems=False),
])
def test_a_compatible_change_of_a_kind_is_accepted(new: dict):
    assert broken_kind(kind_with(SCHEMA), new) == []


@pytest.mark.parametrize(("found", "reviewed", "left"), [
    (["a narrowed", "b narrowed"], {"a narrowed": "The controller has always rejected such objects."}, ["b narrowed"]),
    ([], {"a narrowed": "A reason."}, ['the list of reviewed changes has a row for "a narrowed", which was not found: remove the row']),
    (["a narrowed"], {"a narrowed": ""}, ['the list of reviewed changes has no reason for "a narrowed"']),
])
def test_a_change_is_accepted_if_it_was_reviewed_with_a_reason(found: list[str], reviewed: dict[str, str], left: list[str]):
    assert unreviewed(found, reviewed) == left


def test_a_kind_that_is_no_longer_served_or_has_another_name_is_found():
    new = kind_with(SCHEMA)
    new["spec"]["versions"][0]["served"] = False
    new["spec"]["names"] = {"kind": "Thing"}
    assert broken_kind(kind_with(SCHEMA), new) == ["Item: names has changed", "Item v1 is no longer served"]


def test_the_definitions_of_this_tree_are_compatible_with_themselves():
    messages, kinds = messages_of(ROOT / "proto"), kinds_of(ROOT / "crds")
    assert {"longshore.control.DesiredState", "longshore.capture.Bundle", "longshore.peer.Peer"} <= set(types_of(messages))
    assert broken_messages(messages, messages) == []
    assert {"Model", "ServingFleet"} <= set(kinds) and not any(broken_kind(it, it) for it in kinds.values())
