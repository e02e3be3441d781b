"""The Helm chart: its variants, and helm for rendering and installing it."""

import json
import pathlib
import re
import ssl
import subprocess
import time

from api import Api, ApiError
from program import Failure, find_binaries

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "helm/longshore"
VERSION = re.search(r"^version: (\S+)$", (CHART / "Chart.yaml").read_text(), re.MULTILINE)[1]
ACCOUNT = "longshore-controller"
# Installations that together render all objects of the chart.
MODES = {
    "roles": {},
    "roles of several namespaces": {"watchNamespaces": ["vision"], "replicas": 2},
    "cluster": {"clusterWide": True},
    "cluster, everything else": {
        "clusterWide": True, "replicas": 2, "logLevel": "debug", "apiRequestsPerSecond": 50, "imagePullSecrets": [{"name": "pull"}],
        "image": {"digest": "sha256:" + "0" * 64}, "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"key": "a", "operator": "Exists"}], "priorityClassName": "system-cluster-critical",
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        "podLabels": {"team": "models"}, "podAnnotations": {"a": "b"},
        "certificates": {"source": "Generated", "keep": True},
        "admissionPolicy": {"images": ["mirror/longshore/", "other/node"], "secretPrefixes": ["models-"]},
        "networkPolicy": {"metricsFrom": [{"podSelector": {"matchLabels": {"app": "prometheus"}}}], "egressPorts": [6443]},
        "metrics": {"discovery": "Annotations"},
        "prometheus": {"caConfigMap": "prometheus-ca", "tokenFor": "https://prometheus.monitoring.svc:9091"},
        "dashboards": {"enabled": True, "annotations": {"grafana_folder": "Longshore"}}},
    "cert-manager, PodMonitor": {"certificates": {"source": "CertManager"},
                                 "prometheus": {"tokenFor": "https://prometheus.monitoring.svc:9091", "tokenSecret": "prometheus"},
                                 "metrics": {"discovery": "PodMonitor", "labels": {"release": "prometheus"}},
                                 "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}}},
    "another issuer of cert-manager, ServiceMonitor": {
        "certificates": {"source": "CertManager", "issuer": {"name": "company", "kind": "ClusterIssuer"}},
        "metrics": {"discovery": "ServiceMonitor", "interval": "1m", "labels": {"release": "prometheus"}}},
    "own Secret, without extras": {
        "certificates": {"source": "Secret", "secretName": "our-ca"}, "admissionPolicy": {"enabled": False},
        "userRoles": {"enabled": False}, "networkPolicy": {"enabled": False}},
    "console": {
        "console": {"audience": "console", "service": {"enabled": True, "hosts": ["console.example.com"]}, "subjects": [
            {"subject": "system:serviceaccount:ops:anna", "scope": "admin"}, {"subject": "system:serviceaccount:ops:ben", "scope": "read"},
            {"subject": "system:serviceaccount:ops:carl", "scope": "read"}]},
        "networkPolicy": {"consoleFrom": [{"podSelector": {"matchLabels": {"app": "ingress"}}}]}},
    "routes": {"routes": [
        {"fleet": "cpu", "namespace": "vision", "protocol": "REST", "hosts": ["models.example.com"],
         "gateway": {"name": "public", "namespace": "infra", "sectionName": "https"}},
        {"fleet": "cpu", "namespace": "vision", "protocol": "gRPC", "hosts": ["grpc.example.com"], "gateway": {"name": "public"}},
        {"fleet": "cpu", "protocol": "REST", "hosts": ["a.example.com", "b.example.com"],
         "ingress": {"className": "nginx", "tlsSecretName": "models", "annotations": {"a": "b"}}},
        {"fleet": "gpu", "protocol": "gRPC", "port": 80, "hosts": ["*.example.com"], "ingress": {}}]},
}


class Helm:
    """Runs helm with separate folders. `template` needs a Kubernetes version, because it does not ask a cluster."""

    def __init__(self, control_plane=None):
        self.program = find_binaries("helm") / "helm"
        self.control_plane = control_plane
        self.rendered = {}

    def __call__(self, *arguments, values=None):
        environment = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}
        if self.control_plane is not None:
            folder = self.control_plane.folder
            environment |= {"KUBECONFIG": str(self.control_plane.kubeconfig), "HOME": str(folder),
                            "HELM_CACHE_HOME": str(folder / "helm")}
        values_flag = ["--values=-"] if values is not None else []
        done = subprocess.run([self.program, *map(str, arguments), *values_flag], env=environment, capture_output=True, text=True,
                              check=False, timeout=120, input=json.dumps(values) if values_flag else None)
        if done.returncode != 0:
            raise Failure(f"helm {arguments[0]}: {(done.stderr + done.stdout).strip()}")
        return done.stdout

    def template(self, values=None, *more):
        return self("template", "longshore", CHART, "--namespace=ops", "--kube-version=1.34.0", *more, values=values or {})

    def template_once(self, values):
        """Like `template`, with a cache."""
        key = json.dumps(values)
        if key not in self.rendered:
            self.rendered[key] = self.template(values)
        return self.rendered[key]

    def install(self, values=None, *more, chart=CHART):
        return self("install", "longshore", chart, "--namespace=ops", *more, values=values or {})

    def upgrade(self, values=None, *more, chart=CHART):
        return self("upgrade", "longshore", chart, "--namespace=ops", *more, values=values or {})

    def uninstall(self):
        return self("uninstall", "longshore", "--namespace=ops")


def api_of_account(control_plane, api, name=ACCOUNT, namespace="ops"):
    """A client of the API server with a token of the service account."""
    answer = api.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", {"spec": {}})
    tls = ssl.create_default_context(cafile=control_plane.authority.certificate)
    return Api(control_plane.url(), tls, answer["status"]["token"])


def wait_until_policies_apply(attempt, timeout_s=20):
    """Waits until the policies apply, which takes a moment. `attempt`: a dry run that a policy must reject."""
    end = time.monotonic() + timeout_s
    while True:
        try:
            attempt()
        except ApiError as error:
            if "ValidatingAdmissionPolicy" in str(error):
                return
            raise
        assert time.monotonic() < end, "no policy has rejected the attempt"
        time.sleep(0.05)
