"""What the policies let the operator's account do, tried with its own token, and that they concern nobody else."""

import copy
import json

import pytest

from api import Refused
from chart import api_of_account, wait_until_refused
from fleet import FLEET, FOREIGN, apply, companions_of, create, deployment_of, path_of
from manifests import put

POD, NODE = "spec.template.spec", "spec.template.spec.containers[0]"
AN_EXEC = {"exec": {"command": ["/bin/sh"]}}
# What is changed of a good Deployment, to what, and a word of the refusal.
BAD_DEPLOYMENTS = [
    (f"{POD}.volumes[4].secret.secretName", "other", "does not name it in modelVolumes: other"),
    (f"{POD}.volumes[6]", {"name": "x", "secret": {"secretName": "longshore-controller-ca"}}, "modelVolumes: models-key, longshore-controller-ca"),
    (f"{POD}.volumes[5].persistentVolumeClaim.claimName", "other", "does not name it, or only read-only: other"),
    (f"{POD}.volumes[5].persistentVolumeClaim.readOnly", False, "only read-only: models"),
    (f"{POD}.volumes[6]", {"name": "x", "hostPath": {"path": "/"}}, "besides emptyDir"),
    (f"{POD}.volumes[6]", {"name": "x", "nfs": {"server": "a", "path": "/"}}, "besides emptyDir"),
    (f"{POD}.volumes[6]", {"name": "x", "csi": {"driver": "secrets-store.csi.k8s.io"}}, "besides emptyDir"),
    (f"{POD}.volumes[6]", {"name": "x", "downwardAPI": {"items": []}}, "besides emptyDir"),
    (f"{POD}.volumes[2].configMap.name", "other", "besides emptyDir"),
    (f"{POD}.volumes[3].projected.sources[0].serviceAccountToken.audience", "https://kubernetes.default.svc", "besides emptyDir"),
    (f"{POD}.volumes[3].projected.sources[0].serviceAccountToken.audience", None, "besides emptyDir"),
    (f"{POD}.volumes[3].projected.sources[1]", {"secret": {"name": "other"}}, "besides emptyDir"),
    (f"{POD}.imagePullSecrets[0].name", "other", "imagePullSecrets: ServingFleet cpu does not name them: other"),
    (f"{POD}.serviceAccountName", "admin", "serviceAccountName: differs from ServingFleet cpu: admin"),
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
    (f"{POD}.initContainers[0]", {"name": "a", "image": "longshore/node:0.1.0"}, "containers.securityContext"),
    (f"{NODE}.image", "evil/node:1", "not from an allowed repository (value admissionPolicy.images): evil/node:1"),
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
    ("metadata.labels[longshore.dev/fleet]", None, "fleet"),  # Two policies have something to say.
    ("metadata.labels[longshore.dev/fleet]", "other", "fleet"),
    ("metadata.ownerReferences", None, "its owner must be the ServingFleet"),
    ("metadata.ownerReferences[0].name", "other", "its owner must be the ServingFleet"),
    ("metadata.ownerReferences[0].kind", "Model", "its owner must be the ServingFleet"),
    ("metadata.ownerReferences[0].uid", "00000000-0000-0000-0000-000000000000", "ownerReferences.uid"),
    ("spec.template.metadata.labels[app.kubernetes.io/managed-by]", None, "must have its labels"),
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


def with_id(case):
    return " ".join(json.dumps(it) if not isinstance(it, str) else it for it in case)[:100]


@pytest.fixture(scope="module")
def account(control_plane, api, helm, namespaces):
    """The API as the operator sees it, in cluster mode, where it has the most rights, once the policies hold."""
    helm.install({"clusterWide": True})
    it = api_of_account(control_plane, api)
    wait_until_refused(lambda: apply(it, FOREIGN, dryRun="All"))
    yield it
    it.close()
    helm.uninstall()


@pytest.fixture(scope="module")
def fleet(api, account):
    it = create(api, FLEET)
    wait_until_refused(lambda: apply(account, changed(deployment_of(it), *BAD_DEPLOYMENTS[0][:2]), dryRun="All"))
    wait_until_refused(lambda: apply(account, changed(deployment_of(it), *BAD_DEPLOYMENTS[25][:2]), dryRun="All"))
    yield it
    api.request("DELETE", path_of(it))


@pytest.fixture
def made(api, fleet):
    """Objects that a test makes; they are taken away after it."""
    paths = []

    def make(maker, it, how=apply):
        paths.append(path_of(it))
        return how(maker, it)

    yield make
    for path in paths:
        try:
            api.request("DELETE", path)
        except Refused as refusal:
            assert refusal.status == 404


def changed(it, path, value):
    it = copy.deepcopy(it)
    put(it, path, value)
    return it


def assert_refused(says, attempt, *words, **more):
    with pytest.raises(Refused) as refusal:
        attempt(*words, **more)
    assert refusal.value.status == 403
    assert "ValidatingAdmissionPolicy 'longshore-controller.ops." in str(refusal.value)
    assert says in str(refusal.value)


def test_the_policies_have_no_doubts(api, account, fleet):
    """The API server checks their types; it says what looks wrong."""
    policies = api.request("GET", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies")["items"]
    assert sorted(it["metadata"]["name"] for it in policies) == [
        f"longshore-controller.ops.{name}" for name in ("declared", "objects", "pods", "status")]
    assert not [it["status"]["typeChecking"] for it in policies if it.get("status", {}).get("typeChecking")]


def test_a_fleets_objects_are_taken_and_taken_again(account, fleet, made):
    for it in [*companions_of(fleet), deployment_of(fleet)]:
        made(account, it)
        made(account, it)


def test_there_are_enough_bad_ones():
    assert len({with_id(case) for case in BAD_DEPLOYMENTS}) == len(BAD_DEPLOYMENTS) >= 15


@pytest.mark.parametrize("case", BAD_DEPLOYMENTS, ids=with_id)
def test_a_bad_deployment_is_refused(account, fleet, case):
    path, value, says = case
    assert_refused(says, apply, account, changed(deployment_of(fleet), path, value), dryRun="All")


@pytest.mark.parametrize("case", BAD_COMPANIONS, ids=with_id)
def test_a_bad_companion_is_refused(account, fleet, case):
    kind, path, value, says = case
    [good, *_] = [it for it in companions_of(fleet) if it["kind"] == kind]
    assert_refused(says, apply, account, changed(good, path, value), dryRun="All")


def test_an_existing_deployment_is_not_made_worse(account, fleet, made):
    made(account, deployment_of(fleet))
    for path, value, says in BAD_DEPLOYMENTS[:6]:
        assert_refused(says, apply, account, changed(deployment_of(fleet), path, value), dryRun="All")


def test_an_image_that_is_there_may_stay(api, account, fleet, made):
    """node.image.repository changed, and with it the policy; the fleet keeps its image."""
    older = changed(deployment_of(fleet), f"{NODE}.image", "former/node:0.0.9")
    made(api, older)
    apply(account, changed(older, f"{NODE}.args", ["--log_level=debug"]))
    assert_refused("not from an allowed repository", apply, account, changed(older, f"{NODE}.image", "former/node:0.1.0"))


def test_a_fleet_may_be_given_more(api, account, fleet):
    """What a fleet names later is let through, a moment later."""
    larger = changed(FLEET, "spec.modelVolumes[2]", {"name": "more", "mountPath": "/models/more", "secret": {"secretName": "more"}})
    assert_refused("does not name it", apply, account, deployment_of({**fleet, "spec": larger["spec"]}), dryRun="All")
    api.request("PATCH", path_of(FLEET), {"spec": larger["spec"]}, "application/merge-patch+json")
    wait_for_answer(lambda: apply(account, deployment_of({**fleet, "spec": larger["spec"]}), dryRun="All"))
    api.request("PATCH", path_of(FLEET), {"spec": FLEET["spec"]}, "application/merge-patch+json")
    wait_until_refused(lambda: apply(account, deployment_of({**fleet, "spec": larger["spec"]}), dryRun="All"))


def wait_for_answer(attempt, tries=400):
    for _ in range(tries):
        try:
            return attempt()
        except Refused as refusal:
            last = refusal
    raise last


def test_objects_of_others_are_not_made_ones_own(api, account, made):
    web = {"metadata": {"name": "web", "namespace": "vision"}}
    theirs = [{"apiVersion": "v1", "kind": "ConfigMap", **web}, {"apiVersion": "v1", "kind": "ServiceAccount", **web},
              {"apiVersion": "v1", "kind": "Service", **web, "spec": {"ports": [{"port": 80}]}},
              {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **web, "spec": {"selector": {"matchLabels": {"app": "web"}}}},
              {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", **web, "spec": {"podSelector": {}}}]
    for it in theirs:
        made(api, it, create)
        note = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "longshore-controller", "longshore.dev/fleet": "cpu"}}}
        assert_refused("does not belong to a fleet", account.request, "PATCH", path_of(it), note, "application/merge-patch+json")


def test_a_fleet_does_not_take_the_operators_place(api, account):
    """Fleets of its namespace whose objects would be named as the operator's own are."""
    nodes = create(api, {**FLEET, "metadata": {"name": "nodes", "namespace": "ops"}})
    [service] = [it for it in companions_of(nodes) if it["metadata"]["name"] == "longshore-nodes" and it["kind"] == "Service"]
    assert_refused("does not belong to a fleet", apply, account, changed(service, "spec.type", "ClusterIP"), dryRun="All")
    api.request("DELETE", path_of(nodes))
    own = "/apis/apps/v1/namespaces/ops/deployments/longshore-controller"
    assert_refused("does not belong to a fleet", account.request, "DELETE", own)
    assert_refused("does not belong to a fleet", account.request, "PATCH", own + "/scale", {"spec": {"replicas": 0}}, "application/merge-patch+json")


def test_only_fleets_are_scaled(api, account, fleet, made):
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "vision"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}}}
    made(api, web, create)
    made(account, deployment_of(fleet))
    to_three = {"spec": {"replicas": 3}}
    account.request("PATCH", path_of(deployment_of(fleet)) + "/scale", to_three, "application/merge-patch+json")
    assert_refused("does not belong to a fleet", account.request, "PATCH", path_of(web) + "/scale", to_three, "application/merge-patch+json")


def test_of_a_pod_only_the_deletion_cost_is_changed(api, account, fleet, made):
    template = deployment_of(fleet)["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {**template["metadata"], "name": "one", "namespace": "vision"}}
    made(api, companions_of(fleet)[0], create)
    made(api, pod, create)
    theirs = changed(changed(pod, "metadata.name", "theirs"), "metadata.labels", {"app": "web"})
    made(api, theirs, create)

    def patch(it, body):
        account.request("PATCH", path_of(it), body, "application/strategic-merge-patch+json")

    cost = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}}}
    patch(pod, cost)
    assert_refused("does not belong to a fleet", patch, theirs, cost)
    for body in ({"metadata": {"annotations": {"a": "b"}}}, {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"finalizers": ["a/b"]}},
                 {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}]}},
                 {"spec": {"containers": [{"name": "node", "image": "longshore/node:0.2.0"}]}}, {"spec": {"activeDeadlineSeconds": 1}}):
        assert_refused("may only change controller.kubernetes.io/pod-deletion-cost", patch, pod, body)


def test_others_are_left_alone(api, fleet, made):
    """Whatever is refused to the operator's account is nobody else's trouble."""
    for path, value, _ in BAD_DEPLOYMENTS:
        apply(api, changed(deployment_of(fleet), path, value), dryRun="All")
    it = made(api, changed(deployment_of(fleet), f"{NODE}.image", "anything"))
    api.request("PATCH", path_of(it) + "/scale", {"spec": {"replicas": 0}}, "application/merge-patch+json")


def test_a_deployment_without_a_fleet_does_not_last(api, account, fleet):
    """What the policies cannot see is taken away by the garbage collector."""
    nobodys = deployment_of(changed(changed(fleet, "metadata.name", "nobody"), "metadata.uid", "00000000-0000-0000-0000-000000000000"))
    apply(account, nobodys)
    for _ in range(2000):
        try:
            api.request("GET", path_of(nobodys))
        except Refused as refusal:
            assert refusal.status == 404
            return
    raise AssertionError("it is still there")


def model(name="digits"):
    return {"apiVersion": "longshore.dev/v1alpha1", "kind": "Model", "metadata": {"name": name, "namespace": "vision"},
            "spec": {"fleet": "cpu", "source": {"uri": "file:///models/shared"}}}


def set_status(who, it, status):
    """By what the operator may do, too: a whole status replaces the former one."""
    now = who.request("GET", path_of(it))
    kept = {**now.get("status", {}), **status}
    now["status"] = {name: value for name, value in kept.items() if value is not None}
    who.request("PUT", path_of(it) + "/status", now)


def test_people_write_commands_and_no_other_status(control_plane, api, account, fleet, made):
    made(api, model(), create)
    wait_until_refused(lambda: set_status(api, model(), {"stableVersion": 9}))
    set_status(account, model(), {"stableVersion": 2, "rollout": {"phase": "Step", "step": 1}, "command": {"verb": "pause"}})
    set_status(api, model(), {"command": {"verb": "promote", "generation": 1, "step": 1}})
    set_status(api, model(), {"command": None})
    for status in ({"stableVersion": 3}, {"stableVersion": None}, {"rollout": {"step": 2}}, {"history": []},
                   {"command": {"verb": "abort"}, "digests": {"3": "a"}}):
        assert_refused("people may only write command", set_status, api, model(), status)
    assert_refused("it is written by system:serviceaccount:ops:longshore-controller", set_status, api, FLEET, {"readyReplicas": 3})
    set_status(account, FLEET, {"readyReplicas": 3})
    set_status(account, model(), {"stableVersion": 3})
