"""The chart without a cluster: what it renders, and which values it rejects."""

import json
import re
import tarfile

import pytest
from program import Failure

from chart import CHART, MODES, ROOT, Helm

TEMPLATES = {path.name: path.read_text() for path in (CHART / "templates").rglob("*") if path.is_file()}
README = (CHART / "README.md").read_text()
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
# Invalid values, and the field that the error names.
INVALID_VALUES = [
    ({"replcas": 2}, "replcas"),
    ({"replicas": "2"}, "/replicas"),
    ({"replicas": -1}, "/replicas"),
    ({"replicas": 100}, "/replicas"),
    ({"clusterWide": "yes"}, "/clusterWide"),
    ({"clusterWide": True, "watchNamespaces": ["vision"]}, "/watchNamespaces"),
    ({"watchNamespaces": "vision"}, "/watchNamespaces"),
    ({"watchNamespaces": ["Vision"]}, "/watchNamespaces/0"),
    ({"watchNamespaces": ["a", "a"]}, "/watchNamespaces"),
    ({"image": None}, "image"),
    ({"image": {"name": "longshore"}}, "/image"),
    ({"image": {"repository": "UPPER"}}, "/image/repository"),
    ({"image": {"tag": 1.0}}, "/image/tag"),
    ({"image": {"digest": "sha256:12"}}, "/image/digest"),
    ({"image": {"pullPolicy": "Sometimes"}}, "/image/pullPolicy"),
    ({"imagePullSecrets": ["pull"]}, "/imagePullSecrets/0"),
    ({"node": {"repository": "a"}}, "/node"),
    ({"node": {"image": {"pullPolicy": "Always"}}}, "/node/image"),
    ({"logLevel": "verbose"}, "/logLevel"),
    ({"lease": {"duration": 15}}, "/lease/duration"),
    ({"lease": {"renewDeadline": "10 seconds"}}, "/lease/renewDeadline"),
    ({"lease": {"leaseDuration": "15s"}}, "/lease"),
    ({"resources": {"limits": {"memory": "256MiB"}}}, "/resources/limits/memory"),
    ({"resources": {"limit": {}}}, "/resources"),
    ({"nodeSelector": {"gpu": True}}, "/nodeSelector/gpu"),
    ({"tolerations": [{"operator": "Is"}]}, "/tolerations/0/operator"),
    ({"affinity": {"nodes": {}}}, "/affinity"),
    ({"podLabels": {"app.kubernetes.io/name": "mine"}}, "app.kubernetes.io/name"),
    ({"certificates": {"source": "Self"}}, "/certificates/source"),
    ({"certificates": {"source": "Secret"}}, "/certificates/secretName"),
    ({"certificates": {"secretName": "our-ca"}}, "/certificates/secretName"),
    ({"certificates": {"issuer": {"name": "company"}}}, "/certificates/issuer"),
    ({"certificates": {"source": "CertManager", "issuer": {"kind": "Issuer"}}}, "/certificates/issuer"),
    ({"certificates": {"source": "CertManager", "keep": True}}, "/certificates/keep"),
    ({"admissionPolicy": {"enabled": False, "images": ["a"]}}, "/admissionPolicy/images"),
    ({"admissionPolicy": {"images": ["*"]}}, "/admissionPolicy/images/0"),
    ({"admissionPolicy": {"images": ["it's"]}}, "/admissionPolicy/images/0"),
    ({"admissionPolicy": {"secretPrefixes": [""]}}, "/admissionPolicy/secretPrefixes/0"),
    ({"userRoles": False}, "/userRoles"),
    ({"networkPolicy": {"egressPorts": []}}, "/networkPolicy/egressPorts"),
    ({"networkPolicy": {"egressPorts": [0]}}, "/networkPolicy/egressPorts/0"),
    ({"console": {"subjects": [{"subject": "anna", "scope": "admin"}]}}, "/console/subjects/0/subject"),
    ({"console": {"subjects": [{"subject": "system:serviceaccount:a:b", "scope": "write"}]}}, "/console/subjects/0/scope"),
    ({"console": {"service": {"enabled": True}}}, "/console/subjects"),
    ({"console": {"enabled": False, "service": {"enabled": True}, "subjects": [{"subject": "system:serviceaccount:a:b", "scope": "read"}]}},
     "/console/enabled"),
    ({"metrics": {"discovery": "podMonitor"}}, "/metrics/discovery"),
    ({"metrics": {"labels": {"a": 1}}}, "/metrics/labels/a"),
    ({"prometheus": {"tokenFor": "http://prometheus:9090"}}, "/prometheus/tokenFor"),
    ({"prometheus": {"tokenSecret": "token"}}, "/prometheus/tokenSecret"),
    ({"prometheus": {"tokenFor": "https://a", "tokenSecret": "b", "tokenAudience": "c"}}, "/prometheus/tokenAudience"),
    ({"prometheus": {"caKey": "../ca.crt"}}, "/prometheus/caKey"),
    ({"dashboards": {"enabled": "yes"}}, "/dashboards/enabled"),
    ({"dashboards": {"labels": {"a": 1}}}, "/dashboards/labels/a"),
    ({"prometheusRule": {"runbooks": "git.example.com"}}, "/prometheusRule/runbooks"),
    ({"prometheusRule": {"runbooks": "https://git.example.com/longshore"}}, "/prometheusRule/runbooks"),
    ({"routes": [{"fleet": "cpu", "protocol": "REST", "hosts": ["a.b"]}]}, "/routes/0"),
    ({"routes": [{"fleet": "cpu", "protocol": "REST", "hosts": [], "ingress": {}}]}, "/routes/0/hosts"),
    ({"routes": [{"fleet": "cpu", "protocol": "HTTP", "hosts": ["a.b"], "ingress": {}}]}, "/routes/0/protocol"),
    ({"routes": [{"fleet": "cpu", "protocol": "REST", "hosts": ["a.b"], "ingress": {}, "gateway": {"name": "a"}}]}, "/routes/0"),
    ({"routes": [{"fleet": "cpu", "protocol": "REST", "hosts": ["a.b"], "ingress": {}}] * 2},
     "routes: fleet cpu of namespace ops has two REST routes through an Ingress; combine them"),
    ({"routes": [{"fleet": "cpu", "protocol": "gRPC", "hosts": ["a.b"], "gateway": {"name": "a"}}] * 2},
     "routes: fleet cpu of namespace ops has two gRPC routes through a Gateway; combine them"),
]

# WHOLE: values that are not split into their fields. EFFECTS: for each value a change of it; a tuple has the other values that
# the change needs, and then the change.
SUBJECTS = [{"subject": "system:serviceaccount:a:b", "scope": "read"}]


def console_service(more):
    return {"console": {"subjects": SUBJECTS, "service": {"enabled": True, **more}}}


WHOLE = ("resources", "affinity", "certificates.issuer")
EFFECTS = {
    "replicas": {"replicas": 2},
    "clusterWide": {"clusterWide": True},
    "watchNamespaces": {"watchNamespaces": ["a"]},
    "image.repository": {"image": {"repository": "a"}},
    "image.tag": {"image": {"tag": "a"}},
    "image.digest": {"image": {"digest": "sha256:" + "a" * 64}},
    "image.pullPolicy": {"image": {"pullPolicy": "Always"}},
    "imagePullSecrets": {"imagePullSecrets": [{"name": "a"}]},
    "node.image.repository": {"node": {"image": {"repository": "a"}}},
    "node.image.tag": {"node": {"image": {"tag": "a"}}},
    "node.image.digest": {"node": {"image": {"digest": "sha256:" + "a" * 64}}},
    "logLevel": {"logLevel": "debug"},
    "apiRequestsPerSecond": {"apiRequestsPerSecond": 50},
    "lease.duration": {"lease": {"duration": "1m"}},
    "lease.renewDeadline": {"lease": {"renewDeadline": "9s"}},
    "lease.retryPeriod": {"lease": {"retryPeriod": "1s"}},
    "resources": {"resources": {"limits": {"memory": "1Gi"}}},
    "nodeSelector": {"nodeSelector": {"a": "b"}},
    "tolerations": {"tolerations": [{"operator": "Exists"}]},
    "affinity": {"affinity": {"podAffinity": {}}},
    "priorityClassName": {"priorityClassName": "a"},
    "podLabels": {"podLabels": {"a": "b"}},
    "podAnnotations": {"podAnnotations": {"a": "b"}},
    "certificates.source": {"certificates": {"source": "CertManager"}},
    "certificates.secretName": ({"certificates": {"source": "Secret", "secretName": "a"}},
                                {"certificates": {"source": "Secret", "secretName": "b"}}),
    "certificates.keep": {"certificates": {"keep": True}},
    "certificates.issuer": ({"certificates": {"source": "CertManager"}},
                            {"certificates": {"source": "CertManager", "issuer": {"name": "a"}}}),
    "admissionPolicy.enabled": {"admissionPolicy": {"enabled": False}},
    "admissionPolicy.images": {"admissionPolicy": {"images": ["a"]}},
    "admissionPolicy.secretPrefixes": {"admissionPolicy": {"secretPrefixes": ["a"]}},
    "userRoles.enabled": {"userRoles": {"enabled": False}},
    "networkPolicy.enabled": {"networkPolicy": {"enabled": False}},
    "networkPolicy.metricsFrom": {"networkPolicy": {"metricsFrom": [{"podSelector": {}}]}},
    "networkPolicy.egressPorts": {"networkPolicy": {"egressPorts": [1]}},
    "networkPolicy.consoleFrom": (console_service({}), {**console_service({}), "networkPolicy": {"consoleFrom": [{"podSelector": {}}]}}),
    "console.enabled": {"console": {"enabled": False}},
    "console.subjects": {"console": {"subjects": [{"subject": "system:serviceaccount:a:b", "scope": "read"}]}},
    "console.audience": {"console": {"audience": "a"}},
    "console.service.enabled": ({"console": {"subjects": SUBJECTS}}, console_service({})),
    "console.service.hosts": (console_service({}), console_service({"hosts": ["a.b"]})),
    "metrics.discovery": {"metrics": {"discovery": "PodMonitor"}},
    "metrics.interval": ({"metrics": {"discovery": "PodMonitor"}}, {"metrics": {"discovery": "PodMonitor", "interval": "1m"}}),
    "metrics.labels": ({"metrics": {"discovery": "PodMonitor"}}, {"metrics": {"discovery": "PodMonitor", "labels": {"a": "b"}}}),
    "prometheus.caConfigMap": {"prometheus": {"caConfigMap": "a"}},
    "prometheus.caKey": ({"prometheus": {"caConfigMap": "a"}}, {"prometheus": {"caConfigMap": "a", "caKey": "b"}}),
    "prometheus.tokenFor": {"prometheus": {"tokenFor": "https://a"}},
    "prometheus.tokenSecret": ({"prometheus": {"tokenFor": "https://a"}}, {"prometheus": {"tokenFor": "https://a", "tokenSecret": "b"}}),
    "prometheus.tokenKey": ({"prometheus": {"tokenFor": "https://a", "tokenSecret": "b"}},
                            {"prometheus": {"tokenFor": "https://a", "tokenSecret": "b", "tokenKey": "c"}}),
    "prometheus.tokenAudience": ({"prometheus": {"tokenFor": "https://a"}},
                                 {"prometheus": {"tokenFor": "https://a", "tokenAudience": "b"}}),
    "dashboards.enabled": {"dashboards": {"enabled": True}},
    "dashboards.labels": ({"dashboards": {"enabled": True}}, {"dashboards": {"enabled": True, "labels": {"a": "b"}}}),
    "dashboards.annotations": ({"dashboards": {"enabled": True}}, {"dashboards": {"enabled": True, "annotations": {"a": "b"}}}),
    "prometheusRule.enabled": {"prometheusRule": {"enabled": True}},
    "prometheusRule.labels": ({"prometheusRule": {"enabled": True}}, {"prometheusRule": {"enabled": True, "labels": {"a": "b"}}}),
    "prometheusRule.runbooks": ({"prometheusRule": {"enabled": True}},
                                {"prometheusRule": {"enabled": True, "runbooks": "https://git.example.com/longshore/"}}),
    "routes": {"routes": [{"fleet": "cpu", "protocol": "REST", "hosts": ["a.b"], "ingress": {}}]},
}


@pytest.fixture(scope="module")
def offline():
    return Helm()


@pytest.mark.parametrize("mode", MODES)
def test_helm_lint_reports_nothing(offline, mode):
    offline("lint", "--strict", "--kube-version=1.34.0", CHART, values=MODES[mode])


@pytest.mark.parametrize("values, field", INVALID_VALUES, ids=lambda item: json.dumps(item) if isinstance(item, dict) else "")
def test_an_invalid_value_is_rejected_and_named(offline, values, field):
    with pytest.raises(Failure) as error:
        offline.template(values)
    assert field in str(error.value)


def test_an_older_kubernetes_is_rejected(offline):
    with pytest.raises(Failure, match="requires kubeVersion: >=1.30"):
        offline("template", "longshore", CHART, "--kube-version=1.29.0")


@pytest.mark.parametrize("mode", MODES)
def test_rendering_again_changes_nothing(offline, mode):
    assert offline.template(MODES[mode]) == offline.template_once(MODES[mode])


def test_templates_use_neither_the_cluster_nor_random_values():
    """Tools for GitOps render a chart without a cluster."""
    for name, text in TEMPLATES.items():
        assert not re.search(r"\b(lookup|gen\w+(Cert|CA|Key)\w*|rand\w+|uuidv4|now|Capabilities|IsUpgrade|IsInstall)\b", text), name


def leaves(schema, path=""):
    inner = schema.get("properties", {})
    if path and not inner or path in WHOLE:
        return {path}
    return {leaf for name, one in inner.items() for leaf in leaves(one, f"{path}.{name}".lstrip("."))}


def flattened(values, path=""):
    if isinstance(values, dict) and values and path not in WHOLE:
        return {leaf for name, one in values.items() for leaf in flattened(one, f"{path}.{name}".lstrip("."))}
    return {path}


@pytest.mark.parametrize("value", EFFECTS)
def test_a_value_has_an_effect(offline, value):
    base, values = {}, EFFECTS[value]
    if isinstance(values, tuple):
        base, values = values
    assert any(f"{leaf}.".startswith(f"{value}.") for leaf in flattened(values))
    assert offline.template_once(base) != offline.template(values)


def test_every_value_of_the_schema_has_a_test():
    assert leaves(SCHEMA) - {"global"} == set(EFFECTS)


def test_the_readme_describes_every_value():
    rows = re.findall(r"^\| `([A-Za-z.]+)` \| ", README.partition("\n## Values\n")[2], re.M)
    assert len(rows) == len(set(rows))
    assert leaves(SCHEMA) - {"global"} == set(rows)


def test_the_crds_of_the_chart_are_copies_of_the_projects():
    """Helm needs copies in the chart. To update them: cp crds/*.yaml helm/longshore/crds/."""
    copies = {path.name: path.read_text() for path in (CHART / "crds").iterdir()}
    assert copies == {path.name: path.read_text() for path in (ROOT / "crds").glob("*.yaml")}


def test_a_package_has_the_crds_and_no_unnecessary_files(offline, tmp_path):
    offline("package", CHART, "--destination", tmp_path)
    [package] = tmp_path.iterdir()
    with tarfile.open(package) as archive:
        names = set(archive.getnames())
    assert {"longshore/crds/models.yaml", "longshore/crds/servingfleets.yaml", "longshore/values.schema.json"} <= names
    assert len(names) == sum(path.is_file() for path in CHART.rglob("*"))
    assert package.stat().st_size < 100_000


def test_the_version_of_the_chart_is_the_projects():
    version = re.search(r"^project\(longshore VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    chart = (CHART / "Chart.yaml").read_text()
    assert f"\nversion: {version}\n" in chart
    assert f"\nappVersion: {version}\n" in chart
