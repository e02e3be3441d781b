"""The custom resources in kubectl: samples, defaults, columns, scale and conditions."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/integration"))

from api import GROUP, PLURALS, ApiError
from manifests import cases, manifest
from samples import SAMPLES, write_example

FILES = ("-f", ROOT / "crds/models.yaml", "-f", ROOT / "crds/servingfleets.yaml")


@pytest.fixture
def fleet(api):
    yield api.apply(manifest("ServingFleet", "cpu", {}))
    api.delete("ServingFleet", "cpu")


@pytest.fixture
def model(api):
    yield api.apply(manifest("Model", "digits", {"spec.version": 3}))
    api.delete("Model", "digits")


def write_status(api, kind, name, status):
    return api.request("PATCH", f"{GROUP}/{PLURALS[kind]}/{name}/status", {"status": status}, "application/merge-patch+json",
                       fieldManager="longshore-controller", fieldValidation="Strict")["status"]


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_the_crds_can_be_applied_server_side_and_client_side(control_plane):
    for flags in (("--server-side", "--force-conflicts"), ()):
        control_plane.kubectl("apply", *flags, "--validate=strict", "--dry-run=server", *FILES)


def test_the_samples_and_the_example_of_the_help_are_valid(control_plane, tmp_path):
    control_plane.kubectl("apply", "-f", "-", input='{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision"}}')
    assert len(SAMPLES) >= 9
    for path in [*SAMPLES, write_example(tmp_path)]:
        control_plane.kubectl("apply", "--validate=strict", "--dry-run=server", "-f", path)


def test_the_smallest_manifests_get_their_defaults(fleet, model):
    assert fleet["spec"] == {
        "replicas": {"min": 1}, "ports": {"grpc": 8500, "rest": 8501}, "engine": {"concurrentRuns": 0, "simulatedRun": "0s"},
        "connectionAgeMax": "30s", "rollout": {"surge": 1}, "service": {"type": "ClusterIP"}, "logLevel": "info",
        "terminationGracePeriod": "60s", "allowedNamespaces": {"from": "Same"}}
    assert model["spec"] == {
        "fleet": "cpu", "source": {"uri": "file:///models/m"}, "version": 3, "batching": {"maxQueue": 1000},
        "warmup": {"source": "Assets"}, "validation": {"nonFinite": "Reject", "deterministic": False},
        "rollout": {"strategy": "Canary", "assignment": {"by": "Request"}, "hold": "30s", "requestsMin": 100,
                    "analysis": {"errorRate": {"enabled": True}, "latency": {"enabled": True, "tolerance": 0.1}},
                    "onFailure": "Rollback", "progressDeadline": "10m", "paused": False}}


@pytest.mark.parametrize("case", cases("status.yaml"), ids=lambda case: case["kind"])
def test_a_status_is_stored_as_the_controller_writes_it(api, fleet, model, case):
    name = "digits" if case["kind"] == "Model" else "cpu"
    assert write_status(api, case["kind"], name, case["status"]) == case["status"]


def test_a_status_with_an_unknown_field_is_rejected(api, model):
    with pytest.raises(ApiError, match="status.phase"):
        write_status(api, "Model", "digits", {"phase": "Running"})


def test_kubectl_shows_columns_and_accepts_short_names(control_plane, api, fleet, model):
    ready = {"type": "Ready", "status": "True", "reason": "Serving", "message": "it is", "lastTransitionTime": "2026-01-02T03:04:05.678Z"}
    write_status(api, "Model", "digits", {
        "stableVersion": 2, "rollout": {"phase": "Step", "candidate": 3, "weight": 12.5}, "conditions": [ready, {
            **ready, "type": "Reconciling", "reason": "Step", "message": "noNode"}]})
    write_status(api, "ServingFleet", "cpu", {
        "replicas": 3, "readyReplicas": 2, "grpcAddress": "longshore-cpu.default:8500", "restAddress": "longshore-cpu.default:8501",
        "autoscale": {"desired": 3, "reason": "QueueDelay"}, "conditions": [{**ready, "status": "False", "reason": "NodesNotReady"}, {
            **ready, "type": "Stalled", "reason": "NeedsHelp", "message": "PodsPending"}]})
    assert [row[:9] + row[10:] for row in rows(control_plane.kubectl("get", "lsm"))] == [
        ["NAME", "FLEET", "READY", "REASON", "STABLE", "WANTED", "ROLLOUT", "CANDIDATE", "WEIGHT", "WHY"],
        ["digits", "cpu", "True", "Serving", "2", "3", "Step", "3", "12.5", "noNode"]]
    assert [row[:9] + row[10:] for row in rows(control_plane.kubectl("get", "lsf"))] == [
        ["NAME", "READY", "REASON", "NODES", "READY-NODES", "WANTED", "SIGNAL", "GRPC", "REST", "WHY"],
        ["cpu", "False", "NodesNotReady", "3", "2", "3", "QueueDelay", "longshore-cpu.default:8500", "longshore-cpu.default:8501",
         "PodsPending"]]
    assert control_plane.kubectl("get", "longshore", "-o", "name").split() == [
        "model.longshore.dev/digits", "servingfleet.longshore.dev/cpu"]
    control_plane.kubectl("wait", "--for=condition=Ready", "--timeout=10s", "model/digits")


def test_kubectl_explain_describes_a_field(control_plane):
    output = control_plane.kubectl("explain", "model.spec.rollout.hold")
    assert "Minimum duration of each step" in output


def test_scale_changes_only_the_minimum_number_of_nodes(control_plane, api, fleet):
    write_status(api, "ServingFleet", "cpu", {"replicas": 1, "selector": "longshore.dev/fleet=cpu"})
    control_plane.kubectl("scale", "lsf", "cpu", "--replicas=4")
    scale = json.loads(control_plane.kubectl("get", "lsf", "cpu", "--subresource=scale", "-o", "json"))
    assert scale["spec"] == {"replicas": 4}
    assert scale["status"] == {"replicas": 1, "selector": "longshore.dev/fleet=cpu"}
    now = api.request("GET", f"{GROUP}/servingfleets/cpu")
    assert now["spec"] == {**fleet["spec"], "replicas": {"min": 4}}


def test_a_maximum_below_the_minimum_is_one_mistake(api):
    with pytest.raises(ApiError, match="max is below min") as error:
        api.apply(manifest("ServingFleet", "cpu", {"spec.replicas": {"min": 5, "max": 2}}))
    assert "has no effect" not in str(error.value)


def test_an_invalid_scale_is_rejected(control_plane, api, fleet):
    with pytest.raises(Exception, match="spec.replicas.min"):
        control_plane.kubectl("scale", "lsf", "cpu", "--replicas=0")
    api.apply(manifest("ServingFleet", "cpu", {"spec.replicas": {"min": 1, "max": 3}, "spec.autoscaling": {}}))
    with pytest.raises(Exception, match="max is below min"):
        control_plane.kubectl("scale", "lsf", "cpu", "--replicas=4")
