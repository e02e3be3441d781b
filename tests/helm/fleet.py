"""A fleet and the objects that the controller creates for it (controller/fleet/pods/manifests.cc)."""

import json

FLEET = {"apiVersion": "longshore.dev/v1alpha1", "kind": "ServingFleet", "metadata": {"name": "cpu", "namespace": "vision"}, "spec": {
    "imagePullSecrets": [{"name": "pull"}],
    "modelVolumes": [{"name": "private", "mountPath": "/models/private", "secret": {"secretName": "models-key"}},
                     {"name": "models", "mountPath": "/models/shared", "persistentVolumeClaim": {"claimName": "models"}}]}}
# An object that does not belong to a fleet.
FOREIGN = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "vision"}}
PATHS = {"ServingFleet": "/apis/longshore.dev/v1alpha1/namespaces/{}/servingfleets",
         "Model": "/apis/longshore.dev/v1alpha1/namespaces/{}/models",
         "Deployment": "/apis/apps/v1/namespaces/{}/deployments", "Service": "/api/v1/namespaces/{}/services",
         "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts", "ConfigMap": "/api/v1/namespaces/{}/configmaps",
         "Pod": "/api/v1/namespaces/{}/pods",
         "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
         "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"}


def path_of(manifest):
    metadata = manifest["metadata"]
    return f"{PATHS[manifest['kind']].format(metadata['namespace'])}/{metadata['name']}"


def create(api, manifest):
    return api.request("POST", path_of(manifest).rpartition("/")[0], manifest)


def apply(api, manifest, **query):
    """Server-side apply, as the controller does it."""
    return api.request("PATCH", path_of(manifest), manifest, "application/apply-patch+yaml",
                       fieldManager="longshore-controller", force="true", **query)


def selector(name):
    return {"app.kubernetes.io/name": "longshore-node", "longshore.dev/fleet": name}


def child(version, kind, fleet, suffix=""):
    name = fleet["metadata"]["name"]
    return {"apiVersion": version, "kind": kind, "metadata": {
        "name": f"longshore-{name}{suffix}", "namespace": fleet["metadata"]["namespace"],
        "labels": {**selector(name), "app.kubernetes.io/managed-by": "longshore-controller"},
        "ownerReferences": [{"apiVersion": "longshore.dev/v1alpha1", "kind": "ServingFleet", "name": name,
                             "uid": fleet["metadata"]["uid"], "controller": True}]}}


def deployment_of(fleet):
    name = fleet["metadata"]["name"]
    manifest = child("apps/v1", "Deployment", fleet)
    probe = {"httpGet": {"path": "/livez", "port": "admin"}}
    volumes = {"state": {"emptyDir": {}}, "cache": {"emptyDir": {"sizeLimit": "1Gi"}},
               "ca": {"configMap": {"name": f"longshore-{name}-ca"}},
               "token": {"projected": {"sources": [{"serviceAccountToken": {
                   "audience": "longshore-controller", "expirationSeconds": 3600, "path": "token"}}]}}}
    for volume in fleet["spec"].get("modelVolumes", []):
        if "secret" in volume:
            source = {"secret": volume["secret"]}
        else:
            source = {"persistentVolumeClaim": {**volume["persistentVolumeClaim"], "readOnly": True}}
        volumes[f"models-{volume['name']}"] = source
    container = {
        "name": "node", "image": "longshore/node:1", "args": ["--fleet=vision/cpu"],
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "ports": [{"name": "grpc", "containerPort": 8500}, {"name": "admin", "containerPort": 8502}],
        "startupProbe": probe, "livenessProbe": probe, "readinessProbe": probe,
        "volumeMounts": [{"name": name, "mountPath": f"/mnt/{name}"} for name in volumes],
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}}
    manifest["spec"] = {"selector": {"matchLabels": selector(name)}, "template": {
        "metadata": {"labels": {**manifest["metadata"]["labels"], "longshore.dev/fleet-uid": fleet["metadata"]["uid"]}},
        "spec": {"serviceAccountName": f"longshore-{name}", "automountServiceAccountToken": False, "enableServiceLinks": False,
                 "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                                     "seccompProfile": {"type": "RuntimeDefault"}},
                 "imagePullSecrets": fleet["spec"].get("imagePullSecrets", []), "containers": [container],
                 "volumes": [{"name": name, **source} for name, source in volumes.items()]}}}
    return json.loads(json.dumps(manifest))  # A deep copy without shared parts.


def companions_of(fleet):
    labels = selector(fleet["metadata"]["name"])
    ports = [{"name": "grpc", "port": 8500, "targetPort": "grpc"}]
    return [
        {**child("v1", "ServiceAccount", fleet), "automountServiceAccountToken": False},
        {**child("v1", "ConfigMap", fleet, "-ca"), "data": {"ca.crt": "PEM"}},
        {**child("networking.k8s.io/v1", "NetworkPolicy", fleet),
         "spec": {"podSelector": {"matchLabels": labels}, "policyTypes": ["Ingress"], "ingress": [{}]}},
        {**child("v1", "Service", fleet), "spec": {"type": "LoadBalancer", "selector": labels, "ports": ports}},
        {**child("v1", "Service", fleet, "-headless"), "spec": {"clusterIP": "None", "selector": labels, "ports": ports}},
        {**child("policy/v1", "PodDisruptionBudget", fleet), "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}}]
