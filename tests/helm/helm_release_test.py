"""Install, upgrade, uninstall and purge: what changes, what stays, and that nothing waits for the operator."""

import base64
import json
import re
import shutil
import signal
import time

import pytest
from program import Failure

from api import ApiError
from chart import CHART, VERSION, api_of_account, wait_until_policies_apply
from fleet import FLEET, FOREIGN, apply, companions_of, create, deployment_of, path_of

SECRET = "/api/v1/namespaces/ops/secrets/longshore-controller-ca"
# Kinds that the API server or its controllers create.
GENERATED_KINDS = {"Event", "EndpointSlice", "Endpoints", "ControllerRevision", "ReplicaSet", "Pod", "Lease/kube-node-lease", "APIService"}
UNINSTALL_MAX_S = 30
PREVIOUS_VERSION = "0.0.9"


@pytest.fixture(scope="module")
def previous_chart(tmp_path_factory):
    """The chart with a previous version number."""
    folder = tmp_path_factory.mktemp("previous") / "longshore"
    shutil.copytree(CHART, folder)
    chart_yaml = folder / "Chart.yaml"
    chart_yaml.write_text(re.sub(r"^(version|appVersion): .*$", rf"\1: {PREVIOUS_VERSION}", chart_yaml.read_text(), flags=re.M))
    return folder


@pytest.fixture
def installed(helm, namespaces):
    """A function that installs the chart. It is uninstalled after the test."""
    yield helm.install
    if "longshore" in helm("list", "--namespace=ops", "--short"):
        helm.uninstall()


@pytest.fixture
def fleet(control_plane, api, namespaces):
    """A fleet with the objects that the operator creates for it, and a Model."""
    item = create(api, FLEET)
    for child in [*companions_of(item), deployment_of(item)]:
        apply(api, child)
    create(api, {"apiVersion": "longshore.dev/v1alpha1", "kind": "Model", "metadata": {"name": "digits", "namespace": "vision"},
                 "spec": {"fleet": "cpu", "source": {"uri": "file:///models/shared"}}})
    yield item
    control_plane.kubectl("delete", "models,servingfleets", "--all", "--all-namespaces")


def all_objects(api):
    """All objects of the cluster except generated ones: "Kind namespace/name"."""
    found = set()
    for path in ["/api/v1"] + [f"/apis/{group['preferredVersion']['groupVersion']}" for group in api.request("GET", "/apis")["groups"]]:
        for resource in listed(api, path, "resources"):
            if "/" in resource["name"] or "list" not in resource["verbs"] or resource["kind"] in GENERATED_KINDS:
                continue
            for item in listed(api, f"{path}/{resource['name']}", "items"):
                found.add(f"{resource['kind']} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}")
    return found


def listed(api, path, what):
    while True:
        try:
            return api.request("GET", path)[what]
        except ApiError as error:  # The kind was just added or removed.
            if error.status == 404:
                return []
            assert error.status == 429, error
            time.sleep(0.05)


def wait_until(what, condition, timeout_s=UNINSTALL_MAX_S):
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"timed out waiting for {what}"
        time.sleep(0.05)


def is_gone(api, path):
    try:
        api.request("GET", path)
        return False
    except ApiError as error:
        return error.status == 404


def fill_the_ca(control_plane, api):
    """Fills the Secret with the token of the Job's account, as the Job does with `longshore ca ensure`."""
    account = api_of_account(control_plane, api, "longshore-controller-ca")
    secret = account.request("GET", SECRET)
    assert "data" not in secret
    data = {name: base64.b64encode(name.encode()).decode() for name in ("tls.crt", "tls.key")}
    body = {"metadata": {"resourceVersion": secret["metadata"]["resourceVersion"]}, "data": data, "immutable": True}
    account.request("PATCH", SECRET, body, "application/merge-patch+json")
    account.close()
    return data


def test_the_pods_of_the_controller_are_created_in_a_restricted_namespace(control_plane, api, installed):
    installed({"replicas": 2})
    pods = "/api/v1/namespaces/ops/pods"

    def names():
        return [item["metadata"]["labels"].get("app.kubernetes.io/name") for item in api.request("GET", pods)["items"]]

    wait_until("pods", lambda: sorted(map(str, names())) == ["longshore-controller"] * 2 + ["longshore-controller-ca"])


def test_in_role_mode_the_policies_apply_to_the_namespaces_of_the_account(control_plane, api, installed, fleet):
    installed({"watchNamespaces": ["vision"], "admissionPolicy": {"secretPrefixes": ["team-"]}})
    account = api_of_account(control_plane, api)
    wait_until_policies_apply(lambda: apply(account, FOREIGN, dryRun="All"))
    with pytest.raises(ApiError, match="secretPrefixes.*: models-key"):
        apply(account, deployment_of(fleet), dryRun="All")
    with pytest.raises(ApiError, match="cannot patch"):  # Rejected by RBAC.
        apply(account, {**FOREIGN, "metadata": {"name": "web", "namespace": "other"}}, dryRun="All")
    for item in api.request("GET", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies")["items"]:
        [selected] = item["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
        names = item["metadata"]["name"].endswith(".names")  # The names of the operator's objects are taken only in its namespace.
        assert selected["values"] == (["ops"] if names else ["ops", "vision"])
    account.close()


def test_the_ca_survives_upgrades_and_repeated_rendering(control_plane, api, helm, installed):
    installed()
    data = fill_the_ca(control_plane, api)
    helm.upgrade({"replicas": 2})
    assert api.request("GET", SECRET)["data"] == data
    manifests = helm.template({"replicas": 2}, "--skip-tests")
    control_plane.kubectl("apply", "--namespace=ops", "-f", "-", input=manifests)
    control_plane.kubectl("apply", "--namespace=ops", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", "-",
                          input=manifests)
    assert api.request("GET", SECRET)["data"] == data
    with pytest.raises(Failure, match="immutable"):
        helm.upgrade({"replicas": 2}, "--force")
    assert api.request("GET", SECRET)["data"] == data
    helm("rollback", "longshore", "1", "--namespace=ops")
    assert api.request("GET", SECRET)["data"] == data


def test_the_ca_can_be_kept_after_uninstalling(control_plane, api, helm, installed):
    installed({"certificates": {"keep": True}})
    data = fill_the_ca(control_plane, api)
    assert "longshore-controller-ca" in helm.uninstall()  # Helm lists the kept Secret.
    assert api.request("GET", SECRET)["data"] == data
    installed({"certificates": {"keep": True}})
    assert api.request("GET", SECRET)["data"] == data
    helm.uninstall()
    api.request("DELETE", SECRET)


def test_an_upgrade_changes_the_controller_but_no_node(api, helm, previous_chart, installed, fleet):
    """An upgrade by one version of the chart leaves leases, fleets and pods unchanged."""
    installed({"watchNamespaces": ["vision"]}, chart=previous_chart)
    lease = "/apis/coordination.k8s.io/v1/namespaces/ops/leases/longshore-controller"
    api.request("PATCH", lease, {"spec": {"holderIdentity": "a", "leaseTransitions": 7}}, "application/merge-patch+json")
    paths = [path_of(item) for item in [FLEET, deployment_of(fleet), *companions_of(fleet)]]

    def state():
        found = {path: api.request("GET", path)["metadata"] for path in paths}
        pods = api.request("GET", "/api/v1/namespaces/vision/pods")["items"]
        return {path: (item["uid"], item.get("generation")) for path, item in found.items()}, {item["metadata"]["uid"] for item in pods}

    wait_until("the fleet's pod", lambda: state()[1])
    before, lease_before = state(), api.request("GET", lease)
    controller = "/apis/apps/v1/namespaces/ops/deployments/longshore-controller"
    assert api.request("GET", controller)["spec"]["template"]["spec"]["containers"][0]["image"] == f"longshore/controller:{PREVIOUS_VERSION}"
    helm.upgrade({"watchNamespaces": ["vision"]})
    assert api.request("GET", controller)["spec"]["template"]["spec"]["containers"][0]["image"] == f"longshore/controller:{VERSION}"
    assert state() == before
    assert api.request("GET", lease) == lease_before


def test_the_crds_can_be_upgraded_by_hand(control_plane, api, helm, installed):
    """As described in the README, because Helm installs CRDs only once."""
    control_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=helm("show", "crds", CHART))


@pytest.mark.parametrize("values", [{"watchNamespaces": ["vision"]}, {"clusterWide": True, "replicas": 2}], ids=["roles", "cluster"])
def test_uninstalling_keeps_the_objects_of_users(control_plane, api, helm, installed, fleet, values):
    before = all_objects(api)
    installed(values)
    fill_the_ca(control_plane, api)
    assert len(all_objects(api) - before) > 15
    started = time.monotonic()
    helm.uninstall()
    wait_until("the objects of the chart to be deleted", lambda: all_objects(api) == before)
    assert time.monotonic() - started < UNINSTALL_MAX_S
    for item in [deployment_of(fleet), *companions_of(fleet)]:  # The nodes continue to serve.
        assert "deletionTimestamp" not in api.request("GET", path_of(item))["metadata"]


def test_without_an_operator_models_and_fleets_can_be_created_and_deleted(control_plane, api, fleet):
    """No webhook and no finalizer needs the operator."""
    other = {**FLEET, "metadata": {"name": "gpu", "namespace": "vision"}}
    create(api, other)
    api.request("PATCH", path_of(FLEET), {"spec": {"replicas": {"min": 3}}}, "application/merge-patch+json")
    api.request("DELETE", path_of(other))
    assert is_gone(api, path_of(other))
    api.request("DELETE", path_of(FLEET))
    assert is_gone(api, path_of(FLEET))
    children = [deployment_of(fleet), *companions_of(fleet)]
    wait_until("the objects of the fleet to be deleted", lambda: all(is_gone(api, path_of(child)) for child in children))


def test_namespaces_can_be_deleted_after_the_operator(control_plane, api, helm, installed):
    """First deletes the operator's namespace with its account, Lease and CA, and then a namespace with fleets."""
    for name in ("first", "second"):
        api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    # Without the chart's Job, whose pods would make Kubernetes check the namespace again eight seconds later.
    helm("install", "longshore", CHART, "--namespace=first",
         values={"clusterWide": True, "certificates": {"source": "Secret", "secretName": "a"}})
    item = create(api, {**FLEET, "metadata": {"name": "cpu", "namespace": "second"}})
    for child in [*companions_of(item), deployment_of(item)]:
        apply(api, child)
    started = time.monotonic()
    api.request("DELETE", "/api/v1/namespaces/first")
    wait_until("the operator to be deleted", lambda: is_gone(api, "/apis/apps/v1/namespaces/first/deployments/longshore-controller"))
    api.request("DELETE", "/api/v1/namespaces/second")
    wait_until("the namespaces to be deleted", lambda: all(is_gone(api, f"/api/v1/namespaces/{name}") for name in ("first", "second")))
    assert time.monotonic() - started < UNINSTALL_MAX_S
    # The cluster-scoped objects still exist, but they restrict only the deleted account.
    create(api, FLEET)
    apply(api, deployment_of({**FLEET, "metadata": {**FLEET["metadata"], "uid": "a"}}), dryRun="All")
    api.request("DELETE", path_of(FLEET))
    for kind in ("validatingadmissionpolicy", "validatingadmissionpolicybinding", "clusterrole", "clusterrolebinding"):
        control_plane.kubectl("delete", kind, "--selector=app.kubernetes.io/part-of=longshore")


def test_policies_without_their_crds_restrict_no_other_user(control_plane, api, installed, fleet):
    """Purging in the wrong order: the CRDs first. The API server then restarts and loads policies for kinds that do not exist."""
    installed({"clusterWide": True})
    leftover = deployment_of(fleet)
    del leftover["metadata"]["ownerReferences"]
    leftover["metadata"]["name"] = "longshore-leftover"
    create(api, leftover)
    account = api_of_account(control_plane, api)
    control_plane.kubectl("delete", "crd", "servingfleets.longshore.dev", "models.longshore.dev")
    control_plane.stop_server(signal_number=signal.SIGKILL)
    control_plane.restart_server()
    for connection in (api, account):
        connection.close()  # The next request opens it again.
    try:
        wait_until_policies_apply(lambda: apply(account, FOREIGN, dryRun="All"))
        for metadata in ({"annotations": {"a": "b"}}, {"finalizers": ["a/b"]}, {"finalizers": []}):
            api.request("PATCH", path_of(leftover), {"metadata": metadata}, "application/merge-patch+json")
        with pytest.raises(ApiError, match="ops.objects"):
            apply(account, leftover, dryRun="All")
    finally:
        api.request("DELETE", path_of(leftover))
        account.close()
        control_plane.apply_crds()


def test_purging_removes_everything(control_plane, api, helm, installed, fleet):
    """The commands of the README, in their order."""
    installed({"clusterWide": True})
    control_plane.kubectl("delete", "models,servingfleets", "--all", "--all-namespaces")
    helm.uninstall()
    control_plane.kubectl("delete", "crd", "models.longshore.dev", "servingfleets.longshore.dev")
    try:
        wait_until("all objects of Longshore to be deleted", lambda: not [item for item in all_objects(api) if "longshore" in item])
    finally:
        control_plane.apply_crds()


def test_the_pod_of_helm_test_is_accepted(control_plane, helm, installed):
    installed()
    manifest = helm.template({}, "--show-only=templates/tests/reads-models.yaml")
    answer = json.loads(control_plane.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=manifest))
    assert [item["args"][1] for item in answer["spec"]["containers"]] == ["fleets", "models"]


def test_the_notes_show_the_next_commands(helm, installed):
    notes = installed({"clusterWide": True})
    for text in ("helm test longshore --namespace ops", "kind: ServingFleet", "continue to serve", "helm show crds", "--all-namespaces"):
        assert text in notes
