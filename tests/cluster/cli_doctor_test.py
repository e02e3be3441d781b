"""`longshore doctor` with a real API server and real faults."""

import datetime
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from control_plane import CRDS
from cli_test import FLEET, LEASE, longshore, make_namespace, model_named, renew

NAMESPACE = "clinic"
CRD = "models.longshore.dev"
READY = {"type": "Ready", "status": "True", "reason": "Ready", "message": "all is well",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.fixture(scope="module")
def cluster(plain_control_plane):
    yield plain_control_plane
    plain_control_plane.kubectl("delete", "models,servingfleets", "--all", "--all-namespaces")


@pytest.fixture(scope="module")
def place(cluster):
    """A fleet and a Model whose statuses say that all is as wanted, and a Lease that is renewed."""
    make_namespace(cluster, NAMESPACE)
    longshore(cluster, "apply", "-n", NAMESPACE, "-f", "-", stdin=FLEET + "---" + model_named("life"))
    for resource, name, fields in (("models", "life", {"stableVersion": 1}),
                                   ("servingfleets", "cpu", {"controllerLease": LEASE, "replicas": 3, "readyReplicas": 3})):
        patch_status(cluster, resource, name, {"observedGeneration": 1, "conditions": [READY], **fields})
    yield cluster
    cluster.kubectl("delete", "lease", "longshore-controller", "--ignore-not-found")
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def patch_status(cluster, resource, name, status):
    cluster.kubectl("patch", f"{resource}.longshore.dev", name, "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": status}))


def create(cluster, document):
    document["metadata"]["namespace"] = NAMESPACE
    cluster.kubectl("apply", "-f", "-", input=json.dumps(document))


def findings(cluster, code=1, environment=None):
    """The findings by name. The controller's account has no rights on this server, so the exit code is 1."""
    shown = longshore(cluster, "doctor", "-n", NAMESPACE, "-o", "json", code=code, environment=environment)
    report, _ = json.JSONDecoder().raw_decode(shown)  # Slow reads are named on standard error.
    return {finding["name"]: finding for finding in report["findings"]}


def test_examines_the_server_and_what_is_as_wanted(place):
    renew(place)
    found = findings(place)
    for name in ("CRD models.longshore.dev", "CRD servingfleets.longshore.dev", "Sign of life", "Clock of the API server",
                 "Clock of the controller", "fleet clinic/cpu", "model clinic/life",
                 "Yours for get, status, explain and all other commands", "Yours for apply, diff and set"):
        assert found[name]["verdict"] == "ok", found[name]
    assert "it answers, and is Kubernetes v1." in next(found[name] for name in found if name.startswith("API server"))["cause"]
    assert found["Admission policies"]["verdict"] == "warning"
    # The test's authority signs certificates for a short time.
    assert "expires in" in found["Certificate of your kubeconfig"]["cause"] or found["Certificate of your kubeconfig"]["verdict"] == "ok"


def test_a_namespace_that_no_controller_watches(place):
    renew(place)
    annotate = lambda value: place.kubectl("annotate", "lease", "longshore-controller", "--overwrite",  # noqa: E731
                                           f"longshore.dev/watched-namespaces{value}")
    annotate("=a,b")
    try:
        found = findings(place)
        applied = longshore(place, "apply", "--dry-run", "-n", NAMESPACE, "-f", "-", stdin=FLEET)
    finally:
        annotate("-")
    unwatched = found[f"Namespace {NAMESPACE}"]
    assert unwatched["group"] == "Controller" and unwatched["verdict"] == "failure"
    assert unwatched["cause"] == f"no controller watches namespace {NAMESPACE}."
    assert unwatched["cure"] == f"use -n with one that is watched (a, b), or add {NAMESPACE} to watchNamespaces of the chart"
    assert "The controller's" not in found, "it needs no rights there"
    assert f"Warning: no controller watches namespace {NAMESPACE}: use -n" in applied


def test_crds_of_an_older_release(place):
    field = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/nodes"
    place.kubectl("patch", "crd", CRD, "--type=json", "-p", json.dumps([{"op": "remove", "path": field}]))
    try:
        old = findings(place)[f"CRD {CRD}"]
    finally:
        place.kubectl("apply", "--server-side", "--force-conflicts", "-f", CRDS)
    assert old["verdict"] == "failure"
    assert "it lacks .status.nodes" in old["cause"]
    assert "helm show crds" in old["cure"]
    assert findings(place)[f"CRD {CRD}"]["verdict"] == "ok"


def test_no_controller(place):
    renew(place, age=datetime.timedelta(hours=2))
    assert findings(place)["Sign of life"]["cause"] == f"its Lease {LEASE} was last renewed 2h ago."
    place.kubectl("delete", "lease", "longshore-controller")
    assert findings(place)["Sign of life"]["cause"] == f"its Lease {LEASE} does not exist."


def test_the_cure_is_an_install_without_a_controller_and_otherwise_an_upgrade_where_it_runs(place):
    renew(place, age=datetime.timedelta(hours=2))
    assert findings(place)["Admission policies"]["cure"] == \
        "helm install longshore CHART --namespace longshore --create-namespace --set admissionPolicy.enabled=true"
    create(place, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    create(place, {"apiVersion": "v1", "kind": "Pod",
                   "metadata": {"name": "controller-0", "labels": {"app.kubernetes.io/name": "longshore-controller"}},
                   "spec": {"containers": [{"name": "controller", "image": "none"}]}})
    try:
        found = findings(place)
    finally:
        place.kubectl("delete", "pod", "controller-0", "-n", NAMESPACE, "--grace-period=0", "--force")
    upgrade = f"helm upgrade longshore CHART --namespace {NAMESPACE} --reset-then-reuse-values"
    assert found["Admission policies"]["cure"] == f"{upgrade} --set admissionPolicy.enabled=true"
    assert found["The controller's"]["cure"].startswith(f"{upgrade}; if")


def test_the_version_of_an_image_that_no_node_runs_is_not_the_version_of_nodes(place):
    renew(place)
    name = "Version of the nodes of fleet cpu"
    patch_status(place, "servingfleets", "cpu", {"image": "registry.example/node:9.9.9"})
    try:
        assert "it is 9.9.9" in findings(place)[name]["cause"]
        patch_status(place, "servingfleets", "cpu", {"readyReplicas": 0})
        assert name not in findings(place)
    finally:
        patch_status(place, "servingfleets", "cpu", {"readyReplicas": 3, "image": None})


def test_a_controller_whose_clock_is_ahead(place):
    renew(place, age=-datetime.timedelta(seconds=3))
    assert findings(place)["Clock of the controller"]["verdict"] == "ok"


def test_rights_of_the_controller(place):
    account = "system:serviceaccount:default:longshore-controller"
    renew(place)
    missing = findings(place)["The controller's"]
    assert f"{account} may not: get models, list models, watch models" in missing["cause"]
    place.kubectl("create", "clusterrolebinding", "doctor", "--clusterrole=cluster-admin", "--serviceaccount=default:longshore-controller")
    try:
        assert findings(place, code=0)["The controller's"]["verdict"] == "ok"
    finally:
        place.kubectl("delete", "clusterrolebinding", "doctor")


def test_a_user_without_rights(place):
    environment = {**place.environment(), "KUBECONFIG": str(place.user("stranger"))}
    found = findings(place, environment=environment)
    assert "you may not: get models, list models, watch models" in found["Yours for get, status, explain and all other commands"]["cause"]
    assert found["Yours for delete"]["verdict"] == "warning"
    assert found[f"CRD {CRD}"]["verdict"] == "notKnown"
    assert found["Models"]["verdict"] == "notKnown"


def test_a_prometheus_that_does_not_answer(place):
    scaling = FLEET.replace("name: cpu", "name: scaling").replace(
        "{min: 3}", "{min: 1, max: 2}").replace("}}", '}, autoscaling: {prometheus: {url: "http://127.0.0.1:1"}}}')
    longshore(place, "apply", "-n", NAMESPACE, "-f", "-", stdin=scaling)
    try:
        found = findings(place)["http://127.0.0.1:1 of fleet clinic/scaling"]
    finally:
        longshore(place, "delete", "fleet", "scaling", "-n", NAMESPACE)
    assert found["verdict"] == "failure"
    assert "The controller has no fresh metrics either." in found["cause"]


def test_pods_services_and_network_policies(place):
    labels = {"app.kubernetes.io/name": "longshore-node", "longshore.dev/fleet": "cpu"}
    create(place, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    create(place, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "cpu-a", "labels": labels},
                   "spec": {"containers": [{"name": "node", "image": "none"}]}})
    waiting = {"name": "node", "image": "none", "imageID": "", "ready": False, "restartCount": 0,
               "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
    place.kubectl("patch", "pod", "cpu-a", "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p",
                  json.dumps({"status": {"containerStatuses": [waiting]}}))
    create(place, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "cpu", "labels": labels},
                   "spec": {"ports": [{"port": 8500}]}})
    create(place, {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny"},
                   "spec": {"podSelector": {}, "policyTypes": ["Egress"]}})
    found = findings(place)
    assert found["pod clinic/cpu-a"]["cause"] == "it waits: ImagePullBackOff: no such image."
    assert found["Service clinic/cpu"]["verdict"] == "failure"
    assert found["NetworkPolicy clinic/deny"]["verdict"] == "warning"


def test_an_api_server_that_does_not_answer(cluster, tmp_path):
    other = tmp_path / "config"
    other.write_text(cluster.kubeconfig.read_text().replace(cluster.url(), "https://127.0.0.1:1"))
    shown = longshore(cluster, "doctor", "--kubeconfig", other, code=1)
    assert "API server https://127.0.0.1:1: " in shown
    assert "0 ok, 0 warnings, 1 failure, 0 not known" in shown
