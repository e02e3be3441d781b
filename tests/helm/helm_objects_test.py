"""A real API server accepts the objects that the chart renders in every mode."""

import copy
import functools
import json

import pytest
from program import Failure

from chart import MODES, ROOT, VERSION

pytestmark = pytest.mark.usefixtures("namespaces")


@pytest.fixture(scope="module")
def rendered(control_plane, helm):
    """A function that returns the objects of a mode as the API server would store them, by kind and name."""
    @functools.cache
    def render(mode):
        manifests = helm.template(MODES[mode], "--skip-tests")
        answer = json.loads(control_plane.kubectl(
            "apply", "--dry-run=server", "--validate=strict", "-f", "-", "-o", "json", input=manifests))
        return {(item["kind"], item["metadata"]["name"]): item for item in answer["items"]}

    return lambda mode: copy.deepcopy(render(mode))


@pytest.mark.parametrize("mode", MODES)
def test_the_api_server_accepts_the_objects(rendered, mode):
    objects = rendered(mode)
    assert ("Deployment", "longshore-controller") in objects
    kinds = {kind for kind, _ in objects}
    assert "ValidatingWebhookConfiguration" not in kinds and "MutatingWebhookConfiguration" not in kinds
    assert not [item for item in objects.values() if item["metadata"].get("finalizers")]


@pytest.mark.parametrize("mode", MODES)
def test_every_object_has_the_label_of_its_release(rendered, mode):
    for key, item in rendered(mode).items():
        assert item["metadata"]["labels"]["app.kubernetes.io/instance"] == "longshore", key


def test_cluster_scoped_objects_exist_only_in_the_modes_that_need_them(rendered):
    objects = rendered("own Secret, without extras")
    assert not [key for key, item in objects.items() if "namespace" not in item["metadata"]]
    objects = rendered("roles")
    assert {kind for (kind, _), item in objects.items() if "namespace" not in item["metadata"]} == {
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}


def test_the_controller_has_the_documented_flags(rendered):
    objects = rendered("roles of several namespaces")
    [container] = objects["Deployment", "longshore-controller"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == [
        "--kubernetes", "--namespace=ops", "--watch_namespaces=ops,vision", f"--node_image=longshore/node:{VERSION}",
        "--node_address=[::]:8610", "--advertised_address=dns:///longshore-nodes.ops.svc:8610",
        "--ca_cert_file=/run/longshore/ca/tls.crt", "--ca_key_file=/run/longshore/ca/tls.key", "--lease_duration=15s",
        "--lease_renew_deadline=10s", "--lease_retry_period=2s", "--api_requests_per_second=200",
        "--console_audience=longshore-console", "--admin_host=::", "--admin_port=8600", "--log_level=info"]
    assert ("Service", "longshore-nodes") in objects
    assert ("PodDisruptionBudget", "longshore-controller") in objects


def test_without_its_service_the_console_is_only_on_the_loopback_address(rendered):
    objects = rendered("roles")
    [container] = objects["Deployment", "longshore-controller"]["spec"]["template"]["spec"]["containers"]
    assert not [flag for flag in container["args"] if flag.startswith(("--console_host", "--console_service_address"))]
    assert [port["name"] for port in container["ports"]] == ["admin", "nodes"]
    assert ("Service", "longshore-console") not in objects
    assert "8630" not in json.dumps(objects["NetworkPolicy", "longshore-controller"])


def test_the_service_of_the_console_has_tls_and_lists_its_subjects(rendered):
    objects = rendered("console")
    [container] = objects["Deployment", "longshore-controller"]["spec"]["template"]["spec"]["containers"]
    assert [flag for flag in container["args"] if flag.startswith("--console")] == [
        "--console_readers=system:serviceaccount:ops:ben,system:serviceaccount:ops:carl", "--console_admins=system:serviceaccount:ops:anna",
        "--console_audience=console", "--console_service_address=[::]:8630",
        "--console_allowed_hosts=longshore-console.ops.svc,console.example.com"]
    assert objects["Service", "longshore-console"]["spec"]["ports"][0]["targetPort"] == "console"
    assert {"ports": [{"port": "console", "protocol": "TCP"}], "from": [{"podSelector": {"matchLabels": {"app": "ingress"}}}]} in \
        objects["NetworkPolicy", "longshore-controller"]["spec"]["ingress"]


def test_the_controller_may_patch_statuses_only_if_a_subject_may_give_commands_in_the_console(rendered):
    patch = {"apiGroups": ["longshore.dev"], "resources": ["models/status"], "verbs": ["patch"]}
    assert patch not in rendered("roles")["Role", "longshore-controller.ops"]["rules"]
    assert rendered("console")["Role", "longshore-controller.ops"]["rules"].count(patch) == 1


def test_in_cluster_mode_the_controller_watches_all_namespaces(rendered):
    objects = rendered("cluster")
    [container] = objects["Deployment", "longshore-controller"]["spec"]["template"]["spec"]["containers"]
    assert not [flag for flag in container["args"] if flag.startswith("--watch_namespaces")]


def test_dashboards_are_config_maps_for_the_sidecar_of_grafana(rendered):
    objects = rendered("cluster, everything else")
    dashboards = {name: item for (kind, name), item in objects.items() if kind == "ConfigMap"}
    files = {path.stem: json.loads(path.read_text()) for path in (ROOT / "deploy/grafana").glob("*.json")}
    assert {name: json.loads(item["data"][f"{name}.json"]) for name, item in dashboards.items()} == files
    for item in dashboards.values():
        assert item["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert item["metadata"]["annotations"]["grafana_folder"] == "Longshore"
    assert not [name for kind, name in rendered("roles") if kind == "ConfigMap"]


def test_alerts_are_a_prometheus_rule_for_the_prometheus_operator(rendered, helm):
    rule = rendered("cert-manager, PodMonitor")["PrometheusRule", "longshore-controller"]
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    alerts = [item for group in rule["spec"]["groups"] for item in group["rules"] if "alert" in item]
    assert len(alerts) == (ROOT / "deploy/prometheus/rules.yaml").read_text().count("- alert: ")
    values = {"prometheusRule": {"enabled": True, "runbooks": "https://git.example.com/longshore/"}}
    text = helm.template(values, "--show-only=templates/prometheusrule.yaml")
    assert text.count("runbook_url: https://git.example.com/longshore/docs/monitoring.md#longshore") == len(alerts)


def test_nodes_are_scraped_with_the_labels_that_dashboards_and_autoscaling_need(rendered):
    monitor = rendered("cert-manager, PodMonitor")["PodMonitor", "longshore-nodes"]
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    assert [item["targetLabel"] for item in endpoint["relabelings"]] == ["fleet", "node"]
    for mode, kind, field in (("cert-manager, PodMonitor", "PodMonitor", "podMetricsEndpoints"),
                              ("another issuer of cert-manager, ServiceMonitor", "ServiceMonitor", "endpoints")):
        [endpoint] = rendered(mode)[kind, "longshore-controller"]["spec"][field]
        assert endpoint["honorLabels"]


@pytest.mark.parametrize("mode", ["roles", "cluster, everything else"])
def test_every_pod_meets_the_restricted_standard(control_plane, rendered, mode):
    """Creates the pods themselves: the API server only warns about templates that violate the standard, but rejects pods."""
    for item in rendered(mode).values():
        if item["kind"] in ("Deployment", "Job"):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try", "namespace": "ops"},
                   "spec": item["spec"]["template"]["spec"]}
            pod["spec"] |= {"serviceAccountName": "default"}
            create_pod(control_plane, pod)
            pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
            with pytest.raises(Failure, match="restricted"):
                create_pod(control_plane, pod)


def create_pod(control_plane, pod):
    control_plane.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(pod))
