"""`longshore` with a real API server: used by an administrator with a kubeconfig, and as a plugin of kubectl."""

import datetime
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from authority import Authority, encoded

BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", "build/dev/bin")).resolve()
MODEL = """
apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: digits}
spec: {fleet: cpu, source: {uri: "file:///models/digits"}, version: 1}
"""

FLEET = """
apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {name: cpu}
spec: {replicas: {min: 3}}
"""
MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
IMPORTS = pathlib.Path(__file__).resolve().parents[1] / "golden" / "cli" / "import"


def make_namespace(cluster, name):
    cluster.kubectl("apply", "-f", "-",
                    input=json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))


def model_named(name):
    return MODEL.replace("name: digits}", f"name: {name}}}")


@pytest.fixture(scope="module")
def cluster(plain_control_plane):
    yield plain_control_plane
    plain_control_plane.kubectl("delete", "models,servingfleets", "--all", "--all-namespaces")


def longshore(cluster, *arguments, stdin="", code=0, environment=None):
    environment = cluster.environment() if environment is None else environment
    environment.pop("LONGSHORE_MANIFESTS", None)
    done = subprocess.run([BIN / "longshore", *arguments], input=stdin, text=True, capture_output=True, timeout=60,
                          env=environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def no_fleet(namespace):
    return f"Warning: Model {namespace}/digits cannot be served: ServingFleet {namespace}/cpu does not exist\n"


def test_applies_shows_and_deletes(cluster):
    assert longshore(cluster, "apply", "-f", "-", stdin=MODEL) == "Model default/digits created\n" + no_fleet("default")
    assert longshore(cluster, "apply", "-f", "-", stdin=MODEL) == "Model default/digits unchanged\n" + no_fleet("default")
    assert longshore(cluster, "apply", "-f", "-", stdin=MODEL.replace("version: 1", "version: 2")) == \
        "Model default/digits changed\n" + no_fleet("default")
    assert "digits" in longshore(cluster, "get", "models")
    assert json.loads(longshore(cluster, "get", "models", "digits", "-o", "json"))["spec"]["version"] == 2
    assert "digits" in longshore(cluster, "describe", "model", "digits")
    assert longshore(cluster, "delete", "model", "digits") == "Model default/digits deleted\n"
    assert "namespace default has no models" in longshore(cluster, "delete", "model", "digits", code=3)


def test_uses_the_namespace_of_the_flag_the_object_or_the_context(cluster):
    make_namespace(cluster, "vision")
    assert longshore(cluster, "apply", "-n", "vision", "-f", "-", stdin=MODEL) == "Model vision/digits created\n" + no_fleet("vision")
    elsewhere = MODEL.replace("name: digits", "name: digits, namespace: vision")
    assert longshore(cluster, "apply", "-f", "-", stdin=elsewhere) == "Model vision/digits unchanged\n" + no_fleet("vision")
    assert "digits" not in longshore(cluster, "get", "models")
    assert "digits" in longshore(cluster, "get", "models", "-n", "vision")
    assert "vision" in longshore(cluster, "get", "models", "-A")
    longshore(cluster, "delete", "model", "digits", "-n", "vision")


def test_diff_and_dry_run_use_the_defaults_and_the_rules_of_the_server(cluster):
    assert "Model default/seven would be created" in longshore(cluster, "diff", "-f", "-", stdin=model_named("seven"), code=1)
    dry = longshore(cluster, "apply", "--dry-run", "-f", "-", stdin=model_named("seven"))
    assert "Model default/seven created (dry run)" in dry
    assert "no rollout: ServingFleet default/cpu does not exist" in dry
    assert "seven" not in longshore(cluster, "get", "models")
    longshore(cluster, "apply", "-f", "-", stdin=model_named("seven"))
    assert longshore(cluster, "diff", "-f", "-", stdin=model_named("seven")) == ""
    changed = model_named("seven").replace("version: 1}", "version: 2, batching: {mode: Auto}}")
    assert longshore(cluster, "diff", "-f", "-", stdin=changed, code=1) == (
        "Model default/seven would be changed\n  ~ spec.version: 1 -> 2\n  ~ spec.batching.maxBatchSize: 1 -> 16\n")
    long_name = FLEET.replace("name: cpu", "name: " + "c" * 45)  # Only the server checks this rule.
    for command in (("diff",), ("apply", "--dry-run")):
        assert "at most 44" in longshore(cluster, *command, "-f", "-", stdin=long_name, code=2)


@pytest.mark.parametrize("block", ["slo: {errorRate: 1%}", "rollout: {analysis: {drift: {max: 0.1}}}"])
def test_a_block_that_is_removed_from_a_file_gets_its_default(cluster, block):
    """A server makes null of a map whose last field goes while a manager still applies the map as empty."""
    longshore(cluster, "apply", "-f", "-", stdin=model_named("blocks").replace("version: 1}", f"version: 1, {block}}}"))
    without = model_named("blocks")
    path = "spec.slo.errorRate" if "slo" in block else "spec.rollout.analysis.drift.max"
    assert f"  - {path}: " in longshore(cluster, "diff", "-f", "-", stdin=without, code=1)
    longshore(cluster, "apply", "--dry-run", "-f", "-", stdin=without)
    assert "Model default/blocks changed\n" in longshore(cluster, "apply", "-f", "-", stdin=without)
    assert longshore(cluster, "diff", "-f", "-", stdin=without) == ""
    longshore(cluster, "delete", "model", "blocks")


def test_a_fleet_without_a_maximum_can_be_scaled_by_kubectl(cluster):
    fleet = FLEET.replace("name: cpu", "name: scaled")
    for replicas in (5, 1):
        longshore(cluster, "apply", "-f", "-", stdin=fleet)
        cluster.kubectl("scale", "servingfleets.longshore.dev", "scaled", f"--replicas={replicas}")
    # An earlier release wrote the default, which the next apply removes.
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=longshore", "-f", "-",
                    input=fleet.replace("min: 3", "min: 3, max: 3"))
    assert longshore(cluster, "apply", "-f", "-", stdin=fleet) == "ServingFleet default/scaled unchanged\n"
    cluster.kubectl("scale", "servingfleets.longshore.dev", "scaled", "--replicas=4")
    longshore(cluster, "delete", "fleet", "scaled")


@pytest.mark.parametrize("command", [("apply",), ("apply", "--server-side", "--field-manager=flux"), ("create",)])
def test_names_the_fields_that_other_managers_keep(cluster, command):
    owner = {"create": "kubectl-create", "apply": "kubectl-client-side-apply"}[command[0]] if len(command) == 1 else "flux"
    extra = "labels: {beta: 1}, replicas: 1, rollout: {onInconclusive: Promote, steps: [{weight: 10}, {weight: 50}], routes: [" \
            "{name: a, match: {clients: [x]}, to: Stable}]}, slo: {errorRate: 0.001}"
    cluster.kubectl(*command, "-f", "-", input=model_named("kept").replace("version: 1}", f"version: 1, {extra}}}"))
    warning = (
        "Warning: Model default/kept keeps what the file does not have, because other field managers set it; "
        "`kubectl replace -f FILE` removes it:\n"
        + "".join(f"  {field}, set by {owner}\n" for field in (
            "spec.labels.beta: 1", "spec.slo.errorRate: 0.001", 'spec.rollout.routes[0].name: "a"',
            'spec.rollout.routes[0].match.clients[0]: "x"', 'spec.rollout.routes[0].to: "Stable"',
            'spec.rollout.onInconclusive: "Promote"', "spec.replicas: 1")))
    changed = longshore(cluster, "diff", "-f", "-", stdin=model_named("kept"), code=1)
    assert changed.startswith("Model default/kept would be changed\n  ~ spec.rollout.steps") and changed.endswith(warning)
    applied = longshore(cluster, "apply", "-f", "-", stdin=model_named("kept"))
    assert warning in applied
    assert longshore(cluster, "diff", "-f", "-", stdin=model_named("kept"), code=1) == warning
    cluster.kubectl("replace", "-f", "-", input=model_named("kept"))
    assert longshore(cluster, "diff", "-f", "-", stdin=model_named("kept")) == ""
    cluster.kubectl("label", "models.longshore.dev", "kept", "team=x")
    assert longshore(cluster, "diff", "-f", "-", stdin=model_named("kept")) == "", "labels of other managers are usual"
    longshore(cluster, "delete", "model", "kept")


def test_a_dry_run_previews_the_rollout(cluster):
    longshore(cluster, "apply", "-f", "-", stdin=FLEET + "---" + model_named("preview"))
    cluster.kubectl("patch", "models.longshore.dev", "preview", "--subresource=status", "--type=merge",
                    "-p", json.dumps({"status": {"stableVersion": 1}}))
    changed = model_named("preview").replace("version: 1}", "version: 2}")
    dry = longshore(cluster, "apply", "--dry-run", "-f", "-", stdin=changed)
    assert "Model default/preview: version 1 -> version 2, on 3 nodes of fleet cpu" in dry
    assert "  30s     25 %     1       Step: version 2 gets 25% of the requests" in dry
    assert "  at least   90s" in dry
    longshore(cluster, "delete", "fleet", "cpu")


def test_status_reports_the_state_by_its_exit_code(cluster):
    longshore(cluster, "apply", "-f", "-", stdin=model_named("state"))
    assert "no controller has processed" in longshore(cluster, "status", "state", code=4)
    waited = longshore(cluster, "status", "state", "--wait", "--timeout=200ms", code=4)
    assert waited.startswith("waiting for model default/state: ")

    def report(stalled):
        condition = {"reason": "Why", "message": "so it is", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        cluster.kubectl("patch", "models.longshore.dev", "state", "--subresource=status", "--type=merge", "-p", json.dumps(
            {"status": {"observedGeneration": 1, "stableVersion": 1, "conditions": [
                {"type": "Ready", "status": "True", **condition}, {"type": "Stalled", "status": stalled, **condition}]}}))

    report("False")
    assert "as wanted" in longshore(cluster, "status", "state", "--wait")
    report("True")
    assert "Why: so it is" in longshore(cluster, "status", "state", code=1)
    assert "failed" in longshore(cluster, "status", code=1)
    assert "Model default/other does not exist" in longshore(cluster, "status", "other", code=3)


LEASE = "default/longshore-controller"


def renew(cluster, holder="controller-0", age=datetime.timedelta(), epoch=0):
    """Writes the Lease as client-go does: https://pkg.go.dev/k8s.io/client-go/tools/leaderelection."""
    at = (datetime.datetime.now(datetime.UTC) - age).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    cluster.kubectl("apply", "-f", "-", input=json.dumps({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "longshore-controller", "namespace": "default"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 60, "renewTime": at,
                 "leaseTransitions": epoch}}))


@pytest.fixture
def ready_model(cluster):
    """A fleet and a Model whose statuses say that all is as wanted."""
    longshore(cluster, "apply", "-f", "-", stdin=FLEET + "---" + model_named("life"))
    ready = [{"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    for resource, name, fields in (("models", "life", {"stableVersion": 1}),
                                   ("servingfleets", "cpu", {"controllerLease": LEASE, "replicas": 3, "readyReplicas": 3})):
        cluster.kubectl("patch", f"{resource}.longshore.dev", name, "--subresource=status", "--type=merge", "-p",
                        json.dumps({"status": {"observedGeneration": 1, "conditions": ready, **fields}}))
    yield "life"
    cluster.kubectl("delete", "lease", "longshore-controller", "--ignore-not-found")
    longshore(cluster, "delete", "model", "life")
    longshore(cluster, "delete", "fleet", "cpu")


def test_status_and_get_say_if_no_controller_is_running(cluster, ready_model):
    renew(cluster)
    assert "running" not in longshore(cluster, "status", ready_model)
    assert "running" not in longshore(cluster, "get", "fleets")
    renew(cluster, age=datetime.timedelta(hours=2))
    expired = f"no controller is running: its Lease {LEASE} was last renewed 2h ago; this is the state as of then\n"
    assert longshore(cluster, "status", ready_model, code=5).endswith(expired)
    begin = time.monotonic()
    assert longshore(cluster, "status", ready_model, "--wait", code=5).endswith(expired)
    assert time.monotonic() - begin < 7, "it waits as for a controller that may be starting"
    assert longshore(cluster, "get", "models").endswith(expired)
    assert longshore(cluster, "explain", ready_model).endswith(expired)
    cluster.kubectl("delete", "lease", "longshore-controller")
    assert longshore(cluster, "status", ready_model, code=5).endswith(
        f"no controller is running: its Lease {LEASE} does not exist\n")


def test_status_waits_for_a_controller_that_was_just_installed(cluster, ready_model):
    """The chart makes an empty Lease, so the controller of a new installation has never held it."""
    cluster.kubectl("apply", "-f", "-", input=json.dumps({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "longshore-controller", "namespace": "default"}}))
    waiting = subprocess.Popen([BIN / "longshore", "status", ready_model, "--wait"], env=cluster.environment(), text=True,
                               stdout=subprocess.PIPE)
    assert "waiting for a controller" in waiting.stdout.readline()
    renew(cluster)
    assert "as wanted" in waiting.communicate(timeout=60)[0]
    assert waiting.returncode == 0


def test_status_waits_until_the_new_leader_has_reconciled(cluster, ready_model):
    renew(cluster, epoch=7)
    shown = longshore(cluster, "status", ready_model, "--wait", "--timeout=3s", code=4)
    assert "the controller has started but has not reconciled this object yet" in shown
    cluster.kubectl("patch", "models.longshore.dev", ready_model, "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": {"epoch": 7}}))
    assert "as wanted" in longshore(cluster, "status", ready_model, "--wait")


@pytest.mark.parametrize("command", [
    ("abort", "life"), ("validate", "life"), ("status", "life", "--wait"), ("get", "models", "-w")])
def test_a_missing_right_ends_a_command_at_once(cluster, ready_model, command):
    environment = {**cluster.environment(), "KUBECONFIG": str(cluster.user("nobody"))}
    timeout = () if "-w" in command else ("--timeout=10m",)
    begin = time.monotonic()
    assert "is forbidden" in longshore(cluster, *command, *timeout, environment=environment, code=1)
    assert time.monotonic() - begin < 20, "it waited for the right as a controller does"


def test_a_command_waits_no_longer_than_its_timeout_for_a_server(cluster, tmp_path):
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kubeconfig = tmp_path / "silent.kubeconfig"
        text = cluster.kubeconfig.read_text()
        kubeconfig.write_text(re.sub(r"https://[^\s\"]+", f"https://127.0.0.1:{silent.getsockname()[1]}", text))
        environment = {**cluster.environment(), "KUBECONFIG": str(kubeconfig)}
        begin = time.monotonic()
        longshore(cluster, "abort", "life", "--timeout=1s", environment=environment, code=1)
        assert time.monotonic() - begin < 20, "it waited as long as a controller does"


def test_status_says_if_it_may_not_read_the_lease(cluster, ready_model):
    renew(cluster)
    for verb in (("clusterrole", "only-longshore", "--verb=get,list,watch", "--resource=models.longshore.dev,servingfleets.longshore.dev"),
                 ("clusterrolebinding", "only-longshore", "--clusterrole=only-longshore", "--user=reader")):
        cluster.kubectl("create", *verb)
    try:
        environment = {**cluster.environment(), "KUBECONFIG": str(cluster.user("reader"))}
        shown = longshore(cluster, "status", ready_model, environment=environment)
    finally:
        cluster.kubectl("delete", "clusterrolebinding,clusterrole", "only-longshore")
    assert shown.endswith(f"it is not known whether a controller is running: you may not read its Lease {LEASE}\n")


def test_delete_counts_the_models_of_all_namespaces_that_a_fleet_serves(cluster):
    make_namespace(cluster, "vision")
    shared = FLEET.replace("name: cpu", "name: shared, labels: {for: all}").replace("spec: {", "spec: {allowedNamespaces: {from: All}, ")
    longshore(cluster, "apply", "-f", "-", stdin=shared)
    selection = ("delete", "fleets", "-l", "for=all")
    elsewhere = model_named("afar").replace("fleet: cpu", "fleet: default/shared")
    longshore(cluster, "apply", "-n", "vision", "-f", "-", stdin=elsewhere)
    assert "nothing was deleted: ServingFleet default/shared serves vision/afar, which then is no longer served; use --yes" in \
        longshore(cluster, *selection, code=1)
    cluster.kubectl("create", "role", "only-here", "--verb=*", "--resource=models.longshore.dev,servingfleets.longshore.dev")
    cluster.kubectl("create", "rolebinding", "only-here", "--role=only-here", "--user=reader")
    try:
        environment = {**cluster.environment(), "KUBECONFIG": str(cluster.user("reader"))}
        refused = longshore(cluster, *selection, environment=environment, code=1)
    finally:
        cluster.kubectl("delete", "rolebinding,role", "only-here")
    assert "ServingFleet default/shared may serve Models of other namespaces, which you may not list" in refused
    assert "ServingFleet default/shared deleted" in longshore(cluster, *selection, "--yes")
    longshore(cluster, "delete", "model", "afar", "-n", "vision")


def test_logs_names_the_right_that_is_missing_and_the_nearest_node(cluster, ready_model):
    node = {"name": "cpu-abcde", "pid": 0, "state": "Ready", "adminAddress": ""}
    cluster.kubectl("patch", "servingfleets.longshore.dev", "cpu", "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": {"nodes": [node]}}))
    assert "did you mean cpu-abcde?" in longshore(cluster, "logs", "cpu-abcd", code=3)
    assert 'pods "cpu-abcde" not found' in longshore(cluster, "logs", "cpu-abcde", code=3)
    renew(cluster, holder="controller-0_0123456789abcdef")
    assert 'pods "controller-0" not found' in longshore(cluster, "logs", "controller", code=3)
    for verb in (("clusterrole", "no-logs", "--verb=get,list,watch", "--resource=models.longshore.dev,servingfleets.longshore.dev"),
                 ("clusterrolebinding", "no-logs", "--clusterrole=no-logs", "--user=reader")):
        cluster.kubectl("create", *verb)
    try:
        environment = {**cluster.environment(), "KUBECONFIG": str(cluster.user("reader"))}
        refused = longshore(cluster, "logs", "fleet/cpu", code=1, environment=environment)
    finally:
        cluster.kubectl("delete", "clusterrolebinding,clusterrole", "no-logs")
    assert "you may not read the log of pod cpu-abcde: this needs the verb get on the resource pods/log in namespace default" in refused


def test_set_version_changes_and_owns_only_the_version(cluster):
    cluster.kubectl("apply", "--server-side", "--field-manager=flux", "-f", "-",
                    input=model_named("owned").replace("version: 1}", "version: 1, batching: {mode: Auto}}"))
    assert longshore(cluster, "set", "version", "owned", "2") == "Model default/owned version 1 -> 2\n"
    made = json.loads(cluster.kubectl("get", "models.longshore.dev", "owned", "-o", "json", "--show-managed-fields"))
    assert made["spec"]["version"] == 2
    owned = {entry["manager"]: entry["fieldsV1"] for entry in made["metadata"]["managedFields"]}
    assert owned["longshore-set-version"] == {"f:spec": {"f:version": {}}}
    assert set(owned) == {"flux", "longshore-set-version"}
    assert "does not exist" in longshore(cluster, "set", "version", "missing", "2", code=3)


def test_check_version_takes_the_rules_of_a_model_of_the_cluster(cluster, tmp_path):
    model = MODEL.replace("version: 1}", "version: 1, validation: {goldenSet: {path: golden.tfrecord, metric: tolerance}}}")
    longshore(cluster, "apply", "-f", "-", stdin=model.replace("name: digits}", "name: half}"))
    golden = tmp_path / "golden.tfrecord"
    table = tmp_path / "table.csv"
    table.write_text("x,wanted\n2.0,3.0\n4.0,4.0\n")
    half = MODELS / "half_plus_two_tf2"
    longshore(cluster, "golden", "from-csv", table, "--model", half, "--label", "wanted", "--out", golden)
    checked = longshore(cluster, "check-version", half / "1", "--model", "half", "--golden", golden)
    assert "would pass" in checked and "rules       Model default/half\n" in checked and "metric tolerance" in checked
    missing = longshore(cluster, "check-version", half / "1", "--model", "half", code=3)
    assert "use --golden FILE" in missing, "the golden set of the Model is on its nodes"
    assert "does not exist" in longshore(cluster, "check-version", half / "1", "--model", "none", code=3)


@pytest.mark.parametrize("words", [
    ("tfserving", "models.config", "--batching_parameters_file=batching.config", "--monitoring_config_file=monitoring.config"),
    ("kserve", "services.yaml"),
    ("kserve", "services.yaml", "--fleet=main")], ids=["tfserving", "kserve", "kserve into one fleet"])
def test_a_real_server_accepts_imported_objects(cluster, words):
    make_namespace(cluster, "vision")
    done = subprocess.run([BIN / "longshore", "import", *words], cwd=IMPORTS, text=True, capture_output=True, timeout=60,
                          env={"PATH": os.environ["PATH"]})
    assert done.returncode == 0, done.stderr
    notes = [line[2:] for line in done.stdout.splitlines() if line.startswith("# ")]
    assert notes == done.stderr.splitlines() and notes
    applied = longshore(cluster, "apply", "--dry-run", "-f", "-", stdin=done.stdout)
    assert applied.count(" (dry run)\n") == done.stdout.count("\nkind: ")
    cluster.kubectl("apply", "--dry-run=server", "-f", "-", input=done.stdout)


@pytest.mark.parametrize(("kind", "only_kubectl", "only_longshore"), [
    ("models", ["CANDIDATE", "WEIGHT", "WHY", "AGE"], ["NOTE"]), ("servingfleets", ["AGE"], [])])
def test_get_shows_the_columns_of_kubectl(cluster, kind, only_kubectl, only_longshore):
    longshore(cluster, "apply", "-f", "-", stdin=FLEET + "---" + MODEL)
    by_kubectl = cluster.kubectl("get", kind, "--all-namespaces").splitlines()[0].split()
    by_longshore = longshore(cluster, "get", kind).splitlines()[0].split()
    assert set(only_kubectl) <= set(by_kubectl) and set(only_longshore) <= set(by_longshore)
    assert [name for name in by_kubectl if name not in only_kubectl] == [name for name in by_longshore if name not in only_longshore]
    longshore(cluster, "delete", "fleet", "cpu")


def test_runs_as_a_plugin_of_kubectl(cluster, tmp_path):
    (tmp_path / "kubectl-longshore").symlink_to(BIN / "longshore")
    environment = cluster.environment()
    environment["PATH"] = f"{tmp_path}:{cluster.binaries}:{os.environ['PATH']}"
    done = subprocess.run(["kubectl", "longshore", "get", "fleets"], env=environment, text=True, capture_output=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr


def test_withdraws_a_command_that_no_controller_takes(cluster):
    longshore(cluster, "apply", "-f", "-", stdin=MODEL)
    assert "no controller took" in longshore(cluster, "promote", "digits", "--timeout=1s", code=4)
    status = json.loads(longshore(cluster, "get", "models", "digits", "-o", "json"))["status"]
    assert "command" not in status


def test_an_error_names_the_cause(cluster, tmp_path):
    assert "cannot open none" in longshore(cluster, "--kubeconfig", "none", "get", "models", code=3)
    assert 'context "else" does not exist' in longshore(cluster, "--context", "else", "get", "models", code=3)
    wrong = MODEL.replace("fleet: cpu", "fleet: cpu, color: red")
    assert "spec.color" in longshore(cluster, "apply", "-f", "-", stdin=wrong, code=2)
    foreign = Authority(tmp_path / "foreign")
    kubeconfig = cluster.kubeconfig.read_text()
    line = next(line for line in kubeconfig.splitlines() if "certificate-authority-data" in line)
    other = tmp_path / "config"
    other.write_text(kubeconfig.replace(line.split(": ")[1].strip(), encoded(foreign.certificate)))
    assert "handshake" in longshore(cluster, "--kubeconfig", other, "get", "models", code=1)


def replace_secret(cluster, data=None):
    cluster.kubectl("delete", "secret", "ca", "--ignore-not-found")
    cluster.kubectl("apply", "-f", "-", input=json.dumps({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca", "namespace": "default"}, "data": data or {}}))


def read_secret(cluster):
    return json.loads(cluster.kubectl("get", "secret", "ca", "-o", "json"))


def test_ca_ensure_creates_a_ca_once(cluster):
    replace_secret(cluster)
    assert longshore(cluster, "ca", "ensure", "--secret=ca") == "Secret default/ca: a certificate authority was created\n"
    made = read_secret(cluster)
    assert made["immutable"] and set(made["data"]) == {"tls.crt", "tls.key"}
    assert "it has a certificate authority, valid until" in longshore(cluster, "ca", "ensure", "--secret=ca", "-n", "default")
    assert read_secret(cluster) == made


def test_ca_ensure_never_overwrites_a_secret_with_contents(cluster):
    replace_secret(cluster)
    longshore(cluster, "ca", "ensure", "--secret=ca")
    whole = read_secret(cluster)["data"]
    for part in ({"tls.crt": whole["tls.crt"]}, {"tls.key": whole["tls.key"]}, {**whole, "tls.key": "bm9uZQ=="}):
        replace_secret(cluster, part)
        before = read_secret(cluster)
        assert "is not overwritten" in longshore(cluster, "ca", "ensure", "--secret=ca", code=1)
        assert read_secret(cluster) == before
    assert "not found" in longshore(cluster, "ca", "ensure", "--secret=none", code=3)
