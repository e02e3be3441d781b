"""What the chart renders is taken by a real API server, in every mode."""

import copy
import functools
import json

import pytest
from program import Failure

from chart import MODES, ROOT

pytestmark = pytest.mark.usefixtures("namespaces")


@pytest.fixture(scope="module")
def rendered(control_plane, helm):
    """To call: the objects of a mode as the API server would store them, by kind and name."""
    @functools.cache
    def render(mode):
        manifests = helm.template(MODES[mode], "--skip-tests")
        answer = json.loads(control_plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", "-o", "json", input=manifests))
        return {(it["kind"], it["metadata"]["name"]): it for it in answer["items"]}

    return lambda mode: copy.deepcopy(render(mode))


@pytest.mark.parametrize("mode", MODES)
def test_the_api_server_takes_it(rendered, mode):
    objects = rendered(mode)
    assert ("Deployment", "longshore-controller") in objects
    kinds = {kind for kind, _ in objects}
    assert "ValidatingWebhookConfiguration" not in kinds and "MutatingWebhookConfiguration" not in kinds
    assert not [it for it in objects.values() if it["metadata"].get("finalizers")]


@pytest.mark.parametrize("mode", MODES)
def test_every_object_says_whose_it_is(rendered, mode):
    for key, it in rendered(mode).items():
        assert it["metadata"]["labels"]["app.kubernetes.io/instance"] == "longshore", key


def test_only_the_modes_that_say_so_reach_beyond_namespaces(rendered):
    objects = rendered("one's own Secret, without extras")
    assert not [key for key, it in objects.items() if "namespace" not in it["metadata"]]
    objects = rendered("roles")
    assert {kind for (kind, _), it in objects.items() if "namespace" not in it["metadata"]} == {
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}


def test_the_controller_gets_the_flags_that_the_documentation_lists(rendered):
    objects = rendered("roles of several namespaces")
    [container] = objects["Deployment", "longshore-controller"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == [
        "--kubernetes", "--namespace=ops", "--watch_namespaces=ops,vision", "--node_image=longshore/node:0.1.0",
        "--node_address=0.0.0.0:8610", "--advertised_address=dns:///longshore-nodes.ops.svc:8610",
        "--ca_cert_file=/run/longshore/ca/tls.crt", "--ca_key_file=/run/longshore/ca/tls.key", "--lease_duration=15s",
        "--lease_renew_deadline=10s", "--lease_retry_period=2s", "--api_requests_per_second=200", "--admin_host=0.0.0.0",
        "--admin_port=8600", "--log_level=info"]
    assert ("Service", "longshore-nodes") in objects
    assert ("PodDisruptionBudget", "longshore-controller") in objects


def test_in_cluster_mode_it_watches_everything(rendered):
    objects = rendered("cluster")
    [container] = objects["Deployment", "longshore-controller"]["spec"]["template"]["spec"]["containers"]
    assert not [flag for flag in container["args"] if flag.startswith("--watch_namespaces")]


def test_dashboards_come_as_grafanas_sidecar_takes_them(rendered):
    objects = rendered("cluster, everything else")
    dashboards = {name: it for (kind, name), it in objects.items() if kind == "ConfigMap"}
    files = {path.stem: json.loads(path.read_text()) for path in (ROOT / "deploy/grafana").glob("*.json")}
    assert {name: json.loads(it["data"][f"{name}.json"]) for name, it in dashboards.items()} == files
    for it in dashboards.values():
        assert it["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert it["metadata"]["annotations"]["grafana_folder"] == "Longshore"
    assert not [name for kind, name in rendered("roles") if kind == "ConfigMap"]


def test_alerts_come_as_the_prometheus_operator_takes_them(rendered, helm):
    rule = rendered("cert-manager, PodMonitor")["PrometheusRule", "longshore-controller"]
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    alerts = [it for group in rule["spec"]["groups"] for it in group["rules"] if "alert" in it]
    assert len(alerts) == (ROOT / "deploy/prometheus/rules.yaml").read_text().count("- alert: ")
    values = {"prometheusRule": {"enabled": True, "runbooks": "https://git.example.com/longshore/"}}
    text = helm.template(values, "--show-only=templates/prometheusrule.yaml")
    assert text.count("runbook_url: https://git.example.com/longshore/docs/monitoring.md#longshore") == len(alerts)


def test_nodes_are_scraped_with_the_labels_that_dashboards_and_autoscaling_ask_for(rendered):
    monitor = rendered("cert-manager, PodMonitor")["PodMonitor", "longshore-nodes"]
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    assert [it["targetLabel"] for it in endpoint["relabelings"]] == ["fleet", "node"]
    for mode, kind, field in (("cert-manager, PodMonitor", "PodMonitor", "podMetricsEndpoints"),
                              ("cert-manager's other issuer, ServiceMonitor", "ServiceMonitor", "endpoints")):
        [endpoint] = rendered(mode)[kind, "longshore-controller"]["spec"][field]
        assert endpoint["honorLabels"]


@pytest.mark.parametrize("mode", ["roles", "cluster, everything else"])
def test_every_pod_of_it_is_restricted(control_plane, rendered, mode):
    """In a namespace that enforces the restricted standard; the API server warns for templates, and refuses pods."""
    for it in rendered(mode).values():
        if it["kind"] in ("Deployment", "Job"):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try", "namespace": "ops"}, "spec": it["spec"]["template"]["spec"]}
            pod["spec"] |= {"serviceAccountName": "default"}
            try_pod(control_plane, pod)
            pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
            with pytest.raises(Failure, match="restricted"):
                try_pod(control_plane, pod)


def try_pod(control_plane, pod):
    control_plane.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(pod))
