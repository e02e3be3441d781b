"""The rights of all accounts, as reported by the API server, are exactly those in the chart's README."""

import itertools

import pytest

from api import ApiError
from chart import ACCOUNT, api_of_account

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
READ, APPLY = {"get", "list", "watch"}, {"list", "watch", "create", "patch"}
# By group and resource; leases have a separate test.
RIGHTS = {
    "longshore.dev/models": READ, "longshore.dev/servingfleets": READ,
    "longshore.dev/models/status": {"update"}, "longshore.dev/servingfleets/status": {"update"},
    "apps/deployments": APPLY | {"get", "delete"}, "apps/deployments/scale": {"patch"},
    "/services": APPLY, "/serviceaccounts": APPLY, "/configmaps": {"create", "patch"},
    "policy/poddisruptionbudgets": APPLY, "networking.k8s.io/networkpolicies": APPLY,
    "/pods": {"list", "watch", "patch"}, "/events": {"create", "patch"}, "discovery.k8s.io/endpointslices": {"list", "watch"},
}
LEASES = {"coordination.k8s.io/leases": {"create"}}
# Rights that Kubernetes gives to every account.
RIGHTS_OF_ALL = {"authorization.k8s.io/selfsubjectaccessreviews": {"create"}, "authorization.k8s.io/selfsubjectrulesreviews": {"create"},
                 "authentication.k8s.io/selfsubjectreviews": {"create"}}
MODES = {"roles": {"watchNamespaces": ["vision"]}, "cluster": {"clusterWide": True}}


@pytest.fixture(scope="module", params=MODES)
def mode(request, helm, namespaces):
    helm.install(MODES[request.param])
    yield request.param
    helm.uninstall()


@pytest.fixture(scope="module")
def resources(api):
    """All resources and subresources of the API server: (group, resource, whether it is namespaced)."""
    versions = ["/api/v1"] + [f"/apis/{group['preferredVersion']['groupVersion']}" for group in api.request("GET", "/apis")["groups"]]
    found = []
    for path in versions:
        group = path.split("/")[2] if path.startswith("/apis") else ""
        found += [(group, item["name"], item["namespaced"]) for item in api.request("GET", path)["resources"]]
    assert len(found) > 100
    return found


def may(api, user, groups, verb, group, resource, namespace="", name=""):
    resource, _, subresource = resource.partition("/")
    attributes = {"verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace, "name": name}
    review = {"spec": {"user": user, "groups": groups, "resourceAttributes": attributes}}
    return api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]


def may_as_account(api, *arguments, account=ACCOUNT, **more):
    groups = ["system:serviceaccounts", "system:serviceaccounts:ops", "system:authenticated"]
    return may(api, f"system:serviceaccount:ops:{account}", groups, *arguments, **more)


def rights_of_account(api, resources, namespace, account=ACCOUNT):
    rights = {}
    for (group, resource, _), verb in itertools.product(resources, VERBS):
        if may_as_account(api, verb, group, resource, namespace, account=account):
            rights.setdefault(f"{group}/{resource}", set()).add(verb)
    return rights


def test_the_account_has_exactly_the_rights_of_the_table(api, resources, mode):
    assert rights_of_account(api, resources, "ops") == RIGHTS_OF_ALL | RIGHTS | LEASES
    assert rights_of_account(api, resources, "vision") == RIGHTS_OF_ALL | RIGHTS
    assert rights_of_account(api, resources, "other") == RIGHTS_OF_ALL | (RIGHTS if mode == "cluster" else {})


def test_the_account_may_use_only_its_own_lease(api, mode):
    def may_lease(verb, name, namespace="ops"):
        return may_as_account(api, verb, "coordination.k8s.io", "leases", namespace, name)

    assert {verb for verb in VERBS if may_lease(verb, "longshore-controller")} == {"create", "get", "update"}
    assert {verb for verb in VERBS if may_lease(verb, "kube-scheduler")} == {"create"}
    assert not [verb for verb in VERBS if may_lease(verb, "longshore-controller", "vision")]


def test_the_account_cannot_get_the_rights_of_other_accounts(api, mode):
    for verb, group, resource in (("impersonate", "", "users"), ("impersonate", "", "serviceaccounts"),
                                  ("bind", "rbac.authorization.k8s.io", "clusterroles"), ("escalate", "rbac.authorization.k8s.io", "roles"),
                                  ("create", "", "serviceaccounts/token"),
                                  ("create", "", "pods/exec"), ("get", "", "pods/log"),
                                  ("create", "authentication.k8s.io", "tokenreviews")):
        assert not may_as_account(api, verb, group, resource, "ops"), (verb, resource)


def test_the_account_cannot_access_secrets(control_plane, api, mode):
    account = api_of_account(control_plane, api)
    paths = ["/api/v1/secrets"] + [f"/api/v1/namespaces/{one}/secrets" for one in ("ops", "vision")]
    paths += [path + "/longshore-controller-ca" for path in paths[1:]]
    for method, path in [*itertools.product(("GET", "DELETE"), paths), ("POST", paths[1])]:
        with pytest.raises(ApiError) as error:
            account.request(method, path, {"metadata": {"name": "a"}} if method == "POST" else None)
        assert error.value.status == 403, (method, path)
    account.close()


def test_the_account_can_list_its_objects_and_read_the_issuers_keys(control_plane, api, mode):
    account = api_of_account(control_plane, api)
    prefix = "" if mode == "cluster" else "/namespaces/vision"
    for path in (f"/apis/longshore.dev/v1alpha1{prefix}/models", f"/apis/longshore.dev/v1alpha1{prefix}/servingfleets",
                 f"/apis/apps/v1{prefix}/deployments", f"/api/v1{prefix}/pods"):
        assert "items" in account.request("GET", path)
    assert account.request("GET", "/openid/v1/jwks")["keys"]
    account.close()


def test_the_account_of_the_ca_job_can_access_only_one_secret(api, resources, mode):
    account = "longshore-controller-ca"
    assert rights_of_account(api, resources, "ops", account) == RIGHTS_OF_ALL
    of_secret = {name: {verb for verb in VERBS if may_as_account(api, verb, "", "secrets", "ops", name, account=account)}
                 for name in ("longshore-controller-ca", "other")}
    assert of_secret == {"longshore-controller-ca": {"get", "patch"}, "other": set()}


def bind(control_plane, kind, role):
    user = f"{role}er"
    control_plane.kubectl("create", "rolebinding", user, "--namespace=vision", f"--{kind}={role}", f"--user={user}")
    return user


def test_every_user_may_read_only_the_lease_of_the_controller(api, mode):
    def verbs(name, namespace="ops", groups=("system:authenticated",)):
        return {verb for verb in VERBS if may(api, "anyone", list(groups), verb, "coordination.k8s.io", "leases", namespace, name)}

    assert verbs("longshore-controller") == {"get"}
    assert not verbs("kube-scheduler") and not verbs("longshore-controller", "vision")
    assert not verbs("longshore-controller", groups=("system:unauthenticated",))


def test_user_roles_allow_reading_and_changing_models_and_fleets(control_plane, api, mode):
    def rights(user):
        return {resource: {verb for verb in VERBS if may(api, user, ["system:authenticated"], verb, "longshore.dev", resource, "vision")}
                for resource in ("models", "models/status", "servingfleets", "servingfleets/scale", "servingfleets/status")}

    prefix, kind = ("", "clusterrole") if mode == "cluster" else ("longshore-", "role")
    viewer = bind(control_plane, kind, f"{prefix}view")
    assert set(map(frozenset, rights(viewer).values())) == {frozenset(READ)}
    editor = bind(control_plane, kind, f"{prefix}edit")
    assert rights(editor) == {
        "models": set(VERBS), "servingfleets": set(VERBS), "models/status": READ | {"update", "patch"},
        "servingfleets/scale": READ | {"update", "patch"}, "servingfleets/status": READ}
    if mode == "cluster":
        assert rights(bind(control_plane, kind, "admin")) == rights(editor)
