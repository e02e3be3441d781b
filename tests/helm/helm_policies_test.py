"""The admission policies: what they allow the operator's account, with its own token, and that they affect no other user."""

import copy
import json

import pytest

from api import ApiError
from chart import api_of_account, wait_until_policies_apply
from fleet import FLEET, FOREIGN, apply, companions_of, create, deployment_of, path_of
from manifests import put

POD, NODE = "spec.template.spec", "spec.template.spec.containers[0]"
AN_EXEC = {"exec": {"command": ["/bin/sh"]}}
# The changed field of a valid Deployment, its new value, and a part of the error.
BAD_DEPLOYMENTS = [
    (f"{POD}.volumes[4].secret.secretName", "other", "does not name it in modelVolumes: other"),
    (f"{POD}.volumes[6]", {"name": "x", "secret": {"secretName": "longshore-controller-ca"}},
     "modelVolumes: models-key, longshore-controller-ca"),
    (f"{POD}.volumes[5].persistentVolumeClaim.claimName", "other", "does not name it in modelVolumes, or names it as read-only: other"),
    (f"{POD}.volumes[5].persistentVolumeClaim.readOnly", False, "names it as read-only: models"),
    (f"{POD}.volumes[6]", {"name": "x", "hostPath": {"path": "/"}}, "besides emptyDir"),
    (f"{POD}.volumes[6]", {"name": "x", "nfs": {"server": "a", "path": "/"}}, "besides emptyDir"),
    (f"{POD}.volumes[6]", {"name": "x", "csi": {"driver": "secrets-store.csi.k8s.io"}}, "besides emptyDir"),
    (f"{POD}.volumes[6]", {"name": "x", "downwardAPI": {"items": []}}, "besides emptyDir"),
    (f"{POD}.volumes[2].configMap.name", "other", "besides emptyDir"),
    (f"{POD}.volumes[3].projected.sources[0].serviceAccountToken.audience", "https://kubernetes.default.svc", "besides emptyDir"),
    (f"{POD}.volumes[3].projected.sources[0].serviceAccountToken.audience", None, "besides emptyDir"),
    (f"{POD}.volumes[3].projected.sources[1]", {"secret": {"name": "other"}}, "besides emptyDir"),
    (f"{POD}.imagePullSecrets[0].name", "other", "imagePullSecrets: ServingFleet cpu does not name all of them: other"),
    (f"{POD}.serviceAccountName", "admin", "serviceAccountName: differs from the account of ServingFleet cpu: admin"),
    (f"{POD}.priorityClassName", "system-node-critical", "priorityClassName"),
    (f"{POD}.automountServiceAccountToken", None, "automountServiceAccountToken"),
    (f"{POD}.hostNetwork", True, "hostNetwork"),
    (f"{POD}.hostPID", True, "hostPID"),
    (f"{POD}.hostIPC", True, "hostIPC"),
    (f"{POD}.nodeName", "control-plane", "nodeName"),
    (f"{POD}.securityContext.runAsNonRoot", None, "spec.template.spec.securityContext"),
    (f"{POD}.securityContext.runAsUser", 0, "spec.template.spec.securityContext"),
    (f"{POD}.securityContext.seccompProfile.type", "Unconfined", "spec.template.spec.securityContext"),
    (f"{POD}.securityContext", None, "spec.template.spec.securityContext"),
    (f"{POD}.initContainers[0]", {"name": "a", "image": "longshore/node:1"}, "containers.securityContext"),
    (f"{NODE}.image", "evil/node:1", "not from an allowed repository (see the value admissionPolicy.images of the chart): evil/node:1"),
    (f"{NODE}.image", "longshore/node-evil:1", "not from an allowed repository"),
    (f"{NODE}.image", "longshore/node", "not from an allowed repository"),
    (f"{NODE}.command", ["/bin/sh"], "command"),
    (f"{NODE}.env[1]", {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "other", "key": "a"}}}, "containers.env"),
    (f"{NODE}.env[1]", {"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": "other", "key": "a"}}}, "containers.env"),
    (f"{NODE}.env[1]", {"name": "LD_PRELOAD", "value": "/models/shared/a.so"}, "containers.env"),
    (f"{NODE}.envFrom[0]", {"secretRef": {"name": "other"}}, "containers.env"),
    (f"{NODE}.lifecycle.postStart", AN_EXEC, "exec"),
    (f"{NODE}.livenessProbe", AN_EXEC, "exec"),
    (f"{NODE}.ports[0].hostPort", 8500, "hostPort"),
    (f"{NODE}.securityContext", {"privileged": True, "readOnlyRootFilesystem": True}, "containers.securityContext"),
    (f"{NODE}.securityContext", None, "containers.securityContext"),
    (f"{NODE}.securityContext.allowPrivilegeEscalation", None, "containers.securityContext"),
    (f"{NODE}.securityContext.readOnlyRootFilesystem", False, "containers.securityContext"),
    (f"{NODE}.securityContext.runAsUser", 0, "containers.securityContext"),
    (f"{NODE}.securityContext.capabilities.add", ["NET_ADMIN"], "containers.securityContext"),
    (f"{NODE}.securityContext.capabilities.drop", ["NET_RAW"], "containers.securityContext"),
    (f"{NODE}.securityContext.seccompProfile", {"type": "Unconfined"}, "containers.securityContext"),
    (f"{NODE}.securityContext.appArmorProfile", {"type": "Unconfined"}, "containers.securityContext"),
    ("metadata.name", "web", "the objects of fleet cpu must be named longshore-cpu"),
    ("metadata.labels[app.kubernetes.io/managed-by]", "Helm", "does not belong to a fleet"),
    ("metadata.labels[longshore.dev/fleet]", None, "fleet"),  # Two policies reject this.
    ("metadata.labels[longshore.dev/fleet]", "other", "fleet"),
    ("metadata.ownerReferences", None, "its only owner must be the ServingFleet"),
    ("metadata.ownerReferences[0].name", "other", "its only owner must be the ServingFleet"),
    ("metadata.ownerReferences[0].kind", "Model", "its only owner must be the ServingFleet"),
    ("metadata.ownerReferences[0].uid", "00000000-0000-0000-0000-000000000000", "ownerReferences.uid"),
    ("spec.template.metadata.labels[app.kubernetes.io/managed-by]", None, "spec.template.metadata.labels: must have"),
]
BAD_COMPANIONS = [
    ("Service", "spec.externalIPs", ["8.8.8.8"], "must select the pods"),
    ("Service", "spec.selector", {"app": "bank"}, "must select the pods"),
    ("Service", "spec", {"type": "ExternalName", "externalName": "example.com"}, "must select the pods"),
    ("NetworkPolicy", "spec.podSelector", {}, "must select the pods"),
    ("PodDisruptionBudget", "spec.selector", {"matchLabels": {"app": "bank"}}, "must select the pods"),
    ("PodDisruptionBudget", "spec.selector", {}, "must select the pods"),
    ("ServiceAccount", "automountServiceAccountToken", True, "must not have a token or a Secret"),
    ("ServiceAccount", "secrets", [{"name": "other"}], "must not have a token or a Secret"),
    ("ConfigMap", "metadata.name", "a", "must be named longshore-cpu"),
    ("ConfigMap", "metadata.labels", {}, "does not belong to a fleet"),
]


def case_id(case):
    return " ".join(json.dumps(item) if not isinstance(item, str) else item for item in case)[:100]


@pytest.fixture(scope="module")
def account(control_plane, api, helm, namespaces):
    """A client with the operator's token in cluster mode, where it has the most rights. The policies already apply."""
    helm.install({"clusterWide": True})
    item = api_of_account(control_plane, api)
    wait_until_policies_apply(lambda: apply(item, FOREIGN, dryRun="All"))
    yield item
    item.close()
    helm.uninstall()


@pytest.fixture(scope="module")
def fleet(api, account):
    item = create(api, FLEET)
    wait_until_policies_apply(lambda: apply(account, changed(deployment_of(item), *BAD_DEPLOYMENTS[0][:2]), dryRun="All"))
    wait_until_policies_apply(lambda: apply(account, changed(deployment_of(item), *BAD_DEPLOYMENTS[25][:2]), dryRun="All"))
    yield item
    api.request("DELETE", path_of(item))


@pytest.fixture
def made(api, fleet):
    """A function that creates objects, which are deleted after the test."""
    paths = []

    def make(client, item, create_or_apply=apply):
        paths.append(path_of(item))
        return create_or_apply(client, item)

    yield make
    for path in paths:
        try:
            api.request("DELETE", path)
        except ApiError as error:
            assert error.status == 404


def changed(item, path, value):
    item = copy.deepcopy(item)
    put(item, path, value)
    return item


def assert_rejected(message, attempt, *arguments, **more):
    with pytest.raises(ApiError) as error:
        attempt(*arguments, **more)
    assert error.value.status == 403
    assert "ValidatingAdmissionPolicy 'longshore-controller.ops." in str(error.value)
    assert message in str(error.value)


def test_the_policies_have_no_type_warnings(api, account, fleet):
    """The API server checks the types in the policies and reports warnings in their status."""
    policies = api.request("GET", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies")["items"]
    assert sorted(item["metadata"]["name"] for item in policies) == [
        f"longshore-controller.ops.{name}" for name in ("declared", "names", "objects", "pods", "status")]
    assert not [item["status"]["typeChecking"] for item in policies if item.get("status", {}).get("typeChecking")]


def test_the_objects_of_a_fleet_can_be_created_and_applied_again(account, fleet, made):
    for item in [*companions_of(fleet), deployment_of(fleet)]:
        made(account, item)
        made(account, item)


def test_there_are_enough_invalid_deployments():
    assert len({case_id(case) for case in BAD_DEPLOYMENTS}) == len(BAD_DEPLOYMENTS) >= 15


@pytest.mark.parametrize("case", BAD_DEPLOYMENTS, ids=case_id)
def test_an_invalid_deployment_is_rejected(account, fleet, case):
    path, value, message = case
    assert_rejected(message, apply, account, changed(deployment_of(fleet), path, value), dryRun="All")


@pytest.mark.parametrize("case", BAD_COMPANIONS, ids=case_id)
def test_another_invalid_object_is_rejected(account, fleet, case):
    kind, path, value, message = case
    [good, *_] = [item for item in companions_of(fleet) if item["kind"] == kind]
    assert_rejected(message, apply, account, changed(good, path, value), dryRun="All")


def test_an_invalid_change_of_a_deployment_is_rejected(account, fleet, made):
    made(account, deployment_of(fleet))
    for path, value, message in BAD_DEPLOYMENTS[:6]:
        assert_rejected(message, apply, account, changed(deployment_of(fleet), path, value), dryRun="All")


def test_an_existing_image_may_stay(api, account, fleet, made):
    """If node.image.repository changes, and with it the policy, a fleet may keep its image."""
    older = changed(deployment_of(fleet), f"{NODE}.image", "former/node:0.0.9")
    made(api, older)
    apply(account, changed(older, f"{NODE}.args", ["--log_level=debug"]))
    assert_rejected("not from an allowed repository", apply, account, changed(older, f"{NODE}.image", "former/node:0.1.0"))


def test_a_fleet_may_get_another_volume(api, account, fleet):
    """A Secret that is added to a fleet is allowed after a moment."""
    larger = changed(FLEET, "spec.modelVolumes[2]", {"name": "more", "mountPath": "/models/more", "secret": {"secretName": "more"}})
    assert_rejected("does not name it", apply, account, deployment_of({**fleet, "spec": larger["spec"]}), dryRun="All")
    api.request("PATCH", path_of(FLEET), {"spec": larger["spec"]}, "application/merge-patch+json")
    wait_for_answer(lambda: apply(account, deployment_of({**fleet, "spec": larger["spec"]}), dryRun="All"))
    api.request("PATCH", path_of(FLEET), {"spec": FLEET["spec"]}, "application/merge-patch+json")
    wait_until_policies_apply(lambda: apply(account, deployment_of({**fleet, "spec": larger["spec"]}), dryRun="All"))


def wait_for_answer(attempt, tries=400):
    for _ in range(tries):
        try:
            return attempt()
        except ApiError as error:
            last = error
    raise last


def test_the_operator_cannot_adopt_foreign_objects(api, account, made):
    web = {"metadata": {"name": "web", "namespace": "vision"}}
    foreign = [{"apiVersion": "v1", "kind": "ConfigMap", **web}, {"apiVersion": "v1", "kind": "ServiceAccount", **web},
               {"apiVersion": "v1", "kind": "Service", **web, "spec": {"ports": [{"port": 80}]}},
               {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **web, "spec": {"selector": {"matchLabels": {"app": "web"}}}},
               {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", **web, "spec": {"podSelector": {}}}]
    for item in foreign:
        made(api, item, create)
        note = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "longshore-controller", "longshore.dev/fleet": "cpu"}}}
        assert_rejected("does not belong to a fleet", account.request, "PATCH", path_of(item), note, "application/merge-patch+json")


def test_a_fleet_cannot_replace_objects_of_the_operator(api, account):
    """Fleets in the operator's namespace whose objects would have the names of the operator's objects."""
    nodes = {**FLEET, "metadata": {"name": "nodes", "namespace": "ops", "uid": "a-fleet-of-before"}}
    [service] = [item for item in companions_of(nodes) if item["metadata"]["name"] == "longshore-nodes" and item["kind"] == "Service"]
    assert_rejected("does not belong to a fleet", apply, account, changed(service, "spec.type", "ClusterIP"), dryRun="All")
    own = "/apis/apps/v1/namespaces/ops/deployments/longshore-controller"
    assert_rejected("does not belong to a fleet", account.request, "DELETE", own)
    assert_rejected("does not belong to a fleet", account.request, "PATCH", own + "/scale", {"spec": {"replicas": 0}},
                    "application/merge-patch+json")


@pytest.mark.parametrize("name", ["controller", "controller-metrics", "longshore-nodes", "longshore-console"])
def test_a_fleet_with_a_name_of_the_operators_objects_is_rejected(api, account, name):
    fleet = {**FLEET, "metadata": {"name": name.removeprefix("longshore-"), "namespace": "ops"}}
    assert_rejected("is reserved in namespace ops: the objects of the fleet would replace longshore-", apply, api, fleet, dryRun="All")
    apply(api, {**fleet, "metadata": {**fleet["metadata"], "namespace": "vision"}}, dryRun="All")


def test_only_deployments_of_fleets_can_be_scaled(api, account, fleet, made):
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "vision"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}}}
    made(api, web, create)
    made(account, deployment_of(fleet))
    to_three = {"spec": {"replicas": 3}}
    account.request("PATCH", path_of(deployment_of(fleet)) + "/scale", to_three, "application/merge-patch+json")
    assert_rejected("does not belong to a fleet", account.request, "PATCH", path_of(web) + "/scale", to_three,
                    "application/merge-patch+json")


def test_only_the_deletion_cost_of_a_pod_can_be_changed(api, account, fleet, made):
    template = deployment_of(fleet)["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {**template["metadata"], "name": "one", "namespace": "vision"}}
    made(api, companions_of(fleet)[0], create)
    made(api, pod, create)
    foreign = changed(changed(pod, "metadata.name", "foreign"), "metadata.labels", {"app": "web"})
    made(api, foreign, create)

    def patch(item, body):
        account.request("PATCH", path_of(item), body, "application/strategic-merge-patch+json")

    cost = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}}}
    patch(pod, cost)
    assert_rejected("does not belong to a fleet", patch, foreign, cost)
    for body in ({"metadata": {"annotations": {"a": "b"}}}, {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"finalizers": ["a/b"]}},
                 {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}]}},
                 {"spec": {"containers": [{"name": "node", "image": "longshore/node:2"}]}}, {"spec": {"activeDeadlineSeconds": 1}}):
        assert_rejected("may only change the annotation controller.kubernetes.io/pod-deletion-cost", patch, pod, body)


def test_the_policies_do_not_affect_other_users(api, fleet, made):
    """Another user can do everything that the policies forbid the operator's account."""
    for path, value, _ in BAD_DEPLOYMENTS:
        apply(api, changed(deployment_of(fleet), path, value), dryRun="All")
    item = made(api, changed(deployment_of(fleet), f"{NODE}.image", "anything"))
    api.request("PATCH", path_of(item) + "/scale", {"spec": {"replicas": 0}}, "application/merge-patch+json")


def test_a_deployment_without_a_fleet_is_deleted(api, account, fleet):
    """The policies cannot check whether the owner exists; the garbage collector deletes objects without an owner."""
    orphan = deployment_of(changed(changed(fleet, "metadata.name", "orphan"), "metadata.uid", "00000000-0000-0000-0000-000000000000"))
    apply(account, orphan)
    for _ in range(2000):
        try:
            api.request("GET", path_of(orphan))
        except ApiError as error:
            assert error.status == 404
            return
    raise AssertionError("the Deployment was not deleted")


def model(name="digits"):
    return {"apiVersion": "longshore.dev/v1alpha1", "kind": "Model", "metadata": {"name": name, "namespace": "vision"},
            "spec": {"fleet": "cpu", "source": {"uri": "file:///models/shared"}}}


def set_status(client, item, status):
    """Merges fields into the status; None removes one. It replaces the whole status, which the operator may do too."""
    now = client.request("GET", path_of(item))
    kept = {**now.get("status", {}), **status}
    now["status"] = {name: value for name, value in kept.items() if value is not None}
    client.request("PUT", path_of(item) + "/status", now)


def test_people_may_write_commands_and_no_other_status(control_plane, api, account, fleet, made):
    made(api, model(), create)
    wait_until_policies_apply(lambda: set_status(api, model(), {"stableVersion": 9}))
    set_status(account, model(), {"stableVersion": 2, "rollout": {"phase": "Step", "step": 1}, "command": {"verb": "pause"}})
    set_status(api, model(), {"command": {"verb": "promote", "generation": 1, "step": 1}})
    set_status(api, model(), {"command": None})
    set_status(api, model(), {"commands": [{"id": "a", "verb": "abort", "generation": 1}]})
    set_status(account, model(), {"commands": None, "answers": [{"id": "a", "verb": "abort", "result": "Done"}]})
    set_status(api, model(), {"commands": [{"id": "b", "verb": "undo", "generation": 1, "from": 2}]})
    set_status(api, model(), {"commands": None})
    for status in ({"stableVersion": 3}, {"stableVersion": None}, {"rollout": {"step": 2}}, {"history": []},
                   {"command": {"verb": "abort"}, "digests": {"3": "a"}}, {"answers": []},
                   {"commands": [{"id": "c", "verb": "pause", "generation": 1}], "answers": [{"id": "c", "verb": "pause", "result": "Done"}]}):
        assert_rejected("people may only write commands", set_status, api, model(), status)
    # A longshore of release 0.1 writes the whole status, without the fields that it does not know.
    assert_rejected("changed: command, answers. A longshore that is older than the controller removes fields", set_status, api, model(),
                    {"command": {"verb": "abort", "generation": 1, "step": 1}, "answers": None})
    traffic = {"at": "2026-01-01T00:00:00Z", "over": "60s", "requestsPerSecond": 3, "errorRate": 0}
    set_status(account, model(), {"answers": None, "traffic": traffic})
    assert_rejected("changed: traffic", set_status, api, model(), {"traffic": {**traffic, "requestsPerSecond": 4}})
    set_status(api, model(), {"command": {"verb": "abort", "generation": 1, "step": 1}, "traffic": None})
    assert_rejected("it is written only by system:serviceaccount:ops:longshore-controller", set_status, api, FLEET, {"readyReplicas": 3})
    set_status(account, FLEET, {"readyReplicas": 3})
    set_status(account, model(), {"stableVersion": 3})
