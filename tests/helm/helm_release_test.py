"""Install, upgrade, uninstall, purge: what changes, what stays, and that nothing waits for the operator."""

import base64
import json
import re
import shutil
import signal
import time

import pytest
from program import Failure

from api import Refused
from chart import CHART, api_of_account, wait_until_refused
from fleet import FLEET, FOREIGN, apply, companions_of, create, deployment_of, path_of

SECRET = "/api/v1/namespaces/ops/secrets/longshore-controller-ca"
# What the API server or its controllers make, of themselves or of a user's objects.
OTHERS = {"Event", "EndpointSlice", "Endpoints", "ControllerRevision", "ReplicaSet", "Pod", "Lease/kube-node-lease", "APIService"}
UNINSTALL_MAX_S = 30


@pytest.fixture(scope="module")
def former(tmp_path_factory):
    """The chart as it was a version ago."""
    folder = tmp_path_factory.mktemp("former") / "longshore"
    shutil.copytree(CHART, folder)
    about = folder / "Chart.yaml"
    about.write_text(re.sub(r"^(version|appVersion): .*$", r"\1: 0.0.9", about.read_text(), flags=re.M))
    return folder


@pytest.fixture
def installed(helm, namespaces):
    """To call; what is still there after the test is uninstalled."""
    yield helm.install
    if "longshore" in helm("list", "--namespace=ops", "--short"):
        helm.uninstall()


@pytest.fixture
def fleet(control_plane, api, namespaces):
    """With its objects, as the operator made them, and a Model."""
    it = create(api, FLEET)
    for child in [*companions_of(it), deployment_of(it)]:
        apply(api, child)
    create(api, {"apiVersion": "longshore.dev/v1alpha1", "kind": "Model", "metadata": {"name": "digits", "namespace": "vision"},
                 "spec": {"fleet": "cpu", "source": {"uri": "file:///models/shared"}}})
    yield it
    control_plane.kubectl("delete", "models,servingfleets", "--all", "--all-namespaces")


def everything(api):
    """All objects of the cluster that somebody made: "Kind namespace/name"."""
    found = set()
    for path in ["/api/v1"] + [f"/apis/{group['preferredVersion']['groupVersion']}" for group in api.request("GET", "/apis")["groups"]]:
        for resource in listed(api, path, "resources"):
            if "/" in resource["name"] or "list" not in resource["verbs"] or resource["kind"] in OTHERS:
                continue
            for it in listed(api, f"{path}/{resource['name']}", "items"):
                found.add(f"{resource['kind']} {it['metadata'].get('namespace', '')}/{it['metadata']['name']}")
    return found


def listed(api, path, what):
    while True:
        try:
            return api.request("GET", path)[what]
        except Refused as refusal:  # Of a kind that came a moment ago, or went.
            if refusal.status == 404:
                return []
            assert refusal.status == 429, refusal
            time.sleep(0.05)


def wait_until(what, condition, timeout_s=UNINSTALL_MAX_S):
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def is_gone(api, path):
    try:
        api.request("GET", path)
        return False
    except Refused as refusal:
        return refusal.status == 404


def fill_the_ca(control_plane, api):
    """As the Job does, with its account's token: `longshore ca ensure`."""
    account = api_of_account(control_plane, api, "longshore-controller-ca")
    secret = account.request("GET", SECRET)
    assert "data" not in secret
    data = {name: base64.b64encode(name.encode()).decode() for name in ("tls.crt", "tls.key")}
    body = {"metadata": {"resourceVersion": secret["metadata"]["resourceVersion"]}, "data": data, "immutable": True}
    account.request("PATCH", SECRET, body, "application/merge-patch+json")
    account.close()
    return data


def test_the_controllers_pods_come_in_a_restricted_namespace(control_plane, api, installed):
    installed({"replicas": 2})
    pods = "/api/v1/namespaces/ops/pods"

    def names():
        return [it["metadata"]["labels"].get("app.kubernetes.io/name") for it in api.request("GET", pods)["items"]]

    wait_until("pods", lambda: sorted(map(str, names())) == ["longshore-controller"] * 2 + ["longshore-controller-ca"])


def test_in_role_mode_the_policies_hold_where_the_account_may_act(control_plane, api, installed, fleet):
    installed({"watchNamespaces": ["vision"], "admissionPolicy": {"secretPrefixes": ["team-"]}})
    account = api_of_account(control_plane, api)
    wait_until_refused(lambda: apply(account, FOREIGN, dryRun="All"))
    with pytest.raises(Refused, match="secretPrefixes.*: models-key"):
        apply(account, deployment_of(fleet), dryRun="All")
    with pytest.raises(Refused, match="cannot patch"):  # By RBAC.
        apply(account, {**FOREIGN, "metadata": {"name": "web", "namespace": "other"}}, dryRun="All")
    for it in api.request("GET", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies")["items"]:
        [selected] = it["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
        assert selected["values"] == ["ops", "vision"]
    account.close()


def test_the_ca_survives_upgrades_and_rendering_again(control_plane, api, helm, installed):
    installed()
    data = fill_the_ca(control_plane, api)
    helm.upgrade({"replicas": 2})
    assert api.request("GET", SECRET)["data"] == data
    manifests = helm.template({"replicas": 2}, "--skip-tests")
    control_plane.kubectl("apply", "--namespace=ops", "-f", "-", input=manifests)
    control_plane.kubectl("apply", "--namespace=ops", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", "-", input=manifests)
    assert api.request("GET", SECRET)["data"] == data
    with pytest.raises(Failure, match="immutable"):
        helm.upgrade({"replicas": 2}, "--force")
    assert api.request("GET", SECRET)["data"] == data
    helm("rollback", "longshore", "1", "--namespace=ops")
    assert api.request("GET", SECRET)["data"] == data


def test_the_ca_may_be_kept(control_plane, api, helm, installed):
    installed({"certificates": {"keep": True}})
    data = fill_the_ca(control_plane, api)
    assert "longshore-controller-ca" in helm.uninstall()  # It says so.
    assert api.request("GET", SECRET)["data"] == data
    installed({"certificates": {"keep": True}})
    assert api.request("GET", SECRET)["data"] == data
    helm.uninstall()
    api.request("DELETE", SECRET)


def test_an_upgrade_changes_the_controller_and_no_node(api, helm, former, installed, fleet):
    """By one version of the chart, with leases, fleets and pods as they are."""
    installed({"watchNamespaces": ["vision"]}, chart=former)
    lease = "/apis/coordination.k8s.io/v1/namespaces/ops/leases/longshore-controller"
    api.request("PATCH", lease, {"spec": {"holderIdentity": "a", "leaseTransitions": 7}}, "application/merge-patch+json")
    paths = [path_of(it) for it in [FLEET, deployment_of(fleet), *companions_of(fleet)]]

    def state():
        found = {path: api.request("GET", path)["metadata"] for path in paths}
        pods = api.request("GET", "/api/v1/namespaces/vision/pods")["items"]
        return {path: (it["uid"], it.get("generation")) for path, it in found.items()}, {it["metadata"]["uid"] for it in pods}

    wait_until("the fleet's pod", lambda: state()[1])
    before, lease_before = state(), api.request("GET", lease)
    controller = "/apis/apps/v1/namespaces/ops/deployments/longshore-controller"
    assert api.request("GET", controller)["spec"]["template"]["spec"]["containers"][0]["image"] == "longshore/controller:0.0.9"
    helm.upgrade({"watchNamespaces": ["vision"]})
    assert api.request("GET", controller)["spec"]["template"]["spec"]["containers"][0]["image"] == "longshore/controller:0.1.0"
    assert state() == before
    assert api.request("GET", lease) == lease_before


def test_the_kinds_are_upgraded_by_hand(control_plane, api, helm, installed):
    """As the README says: Helm brings them at the first install only."""
    control_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=helm("show", "crds", CHART))


@pytest.mark.parametrize("values", [{"watchNamespaces": ["vision"]}, {"clusterWide": True, "replicas": 2}], ids=["roles", "cluster"])
def test_uninstalling_leaves_what_is_the_users(control_plane, api, helm, installed, fleet, values):
    before = everything(api)
    installed(values)
    fill_the_ca(control_plane, api)
    assert len(everything(api) - before) > 15
    started = time.monotonic()
    helm.uninstall()
    wait_until("the rest to go", lambda: everything(api) == before)
    assert time.monotonic() - started < UNINSTALL_MAX_S
    for it in [deployment_of(fleet), *companions_of(fleet)]:  # They serve.
        assert "deletionTimestamp" not in api.request("GET", path_of(it))["metadata"]


def test_after_that_models_and_fleets_come_and_go_as_before(control_plane, api, fleet):
    """Nobody is asked, nobody is waited for."""
    other = {**FLEET, "metadata": {"name": "gpu", "namespace": "vision"}}
    create(api, other)
    api.request("PATCH", path_of(FLEET), {"spec": {"replicas": {"min": 3}}}, "application/merge-patch+json")
    api.request("DELETE", path_of(other))
    assert is_gone(api, path_of(other))
    api.request("DELETE", path_of(FLEET))
    assert is_gone(api, path_of(FLEET))
    wait_until("its objects to go", lambda: all(is_gone(api, path_of(it)) for it in [deployment_of(fleet), *companions_of(fleet)]))


def test_a_namespace_goes_when_its_operator_is_gone_already(control_plane, api, helm, installed):
    """The operator's own namespace goes first, with its account, its Lease and its CA in it; then one with fleets."""
    for name in ("first", "second"):
        api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    # Without the chart's Job, whose pods would make Kubernetes look a second time, eight seconds later.
    helm("install", "longshore", CHART, "--namespace=first", values={"clusterWide": True, "certificates": {"source": "Secret", "secretName": "a"}})
    it = create(api, {**FLEET, "metadata": {"name": "cpu", "namespace": "second"}})
    for child in [*companions_of(it), deployment_of(it)]:
        apply(api, child)
    started = time.monotonic()
    api.request("DELETE", "/api/v1/namespaces/first")
    wait_until("the operator to go", lambda: is_gone(api, "/apis/apps/v1/namespaces/first/deployments/longshore-controller"))
    api.request("DELETE", "/api/v1/namespaces/second")
    wait_until("the namespaces to go", lambda: all(is_gone(api, f"/api/v1/namespaces/{name}") for name in ("first", "second")))
    assert time.monotonic() - started < UNINSTALL_MAX_S
    # What lay outside is still there, and stops nobody but the account that is gone.
    create(api, FLEET)
    apply(api, deployment_of({**FLEET, "metadata": {**FLEET["metadata"], "uid": "a"}}), dryRun="All")
    api.request("DELETE", path_of(FLEET))
    for kind in ("validatingadmissionpolicy", "validatingadmissionpolicybinding", "clusterrole", "clusterrolebinding"):
        control_plane.kubectl("delete", kind, "--selector=app.kubernetes.io/part-of=longshore")


def test_without_the_kinds_nobody_is_stopped(control_plane, api, installed, fleet):
    """Somebody purged in the wrong order, the kinds first; the API server that finds the policy about them is a new one."""
    installed({"clusterWide": True})
    left = deployment_of(fleet)
    del left["metadata"]["ownerReferences"]
    left["metadata"]["name"] = "longshore-left"
    create(api, left)
    account = api_of_account(control_plane, api)
    control_plane.kubectl("delete", "crd", "servingfleets.longshore.dev", "models.longshore.dev")
    control_plane.stop_server(signal_number=signal.SIGKILL)
    control_plane.restart_server()
    for connection in (api, account):
        connection.close()  # It opens again by itself.
    try:
        wait_until_refused(lambda: apply(account, FOREIGN, dryRun="All"))
        for metadata in ({"annotations": {"a": "b"}}, {"finalizers": ["a/b"]}, {"finalizers": []}):
            api.request("PATCH", path_of(left), {"metadata": metadata}, "application/merge-patch+json")
        with pytest.raises(Refused, match="ops.objects"):
            apply(account, left, dryRun="All")
    finally:
        api.request("DELETE", path_of(left))
        account.close()
        control_plane.apply_crds()


def test_purging_leaves_nothing(control_plane, api, helm, installed, fleet):
    """The README's commands, in the README's order."""
    installed({"clusterWide": True})
    control_plane.kubectl("delete", "models,servingfleets", "--all", "--all-namespaces")
    helm.uninstall()
    control_plane.kubectl("delete", "crd", "models.longshore.dev", "servingfleets.longshore.dev")
    try:
        wait_until("nothing of it", lambda: not [it for it in everything(api) if "longshore" in it])
    finally:
        control_plane.apply_crds()


def test_the_pod_of_helm_test_is_taken(control_plane, helm, installed):
    installed()
    manifest = helm.template({}, "--show-only=templates/tests/reads-models.yaml")
    answer = json.loads(control_plane.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=manifest))
    assert [it["args"][1] for it in answer["spec"]["containers"]] == ["fleets", "models"]


def test_the_notes_tell_the_next_commands(helm, installed):
    notes = installed({"clusterWide": True})
    for words in ("helm test longshore --namespace ops", "kind: ServingFleet", "go on serving", "helm show crds", "--all-namespaces"):
        assert words in notes
