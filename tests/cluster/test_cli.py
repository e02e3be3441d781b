"""`longshore` against a real API server: as an administrator with a kubeconfig uses it, and as a plugin of kubectl."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from authority import Authority, encoded
from control_plane import ControlPlane

BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", "build/dev/bin")).resolve()
MODEL = """
apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: digits}
spec: {fleet: cpu, source: {uri: "file:///models/digits"}, version: 1}
"""


@pytest.fixture(scope="module")
def cluster():
    with ControlPlane() as control_plane:
        yield control_plane


def longshore(cluster, *words, stdin="", code=0, environment=None):
    environment = cluster.environment() if environment is None else environment
    environment.pop("LONGSHORE_MANIFESTS", None)
    done = subprocess.run([BIN / "longshore", *words], input=stdin, text=True, capture_output=True, timeout=60,
                          env=environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_applies_shows_and_deletes(cluster):
    assert longshore(cluster, "apply", "-f", "-", stdin=MODEL) == "Model default/digits created\n"
    assert longshore(cluster, "apply", "-f", "-", stdin=MODEL) == "Model default/digits unchanged\n"
    assert longshore(cluster, "apply", "-f", "-", stdin=MODEL.replace("version: 1", "version: 2")) == \
        "Model default/digits changed\n"
    assert "digits" in longshore(cluster, "get", "models")
    assert json.loads(longshore(cluster, "get", "models", "digits", "-o", "json"))["spec"]["version"] == 2
    assert "digits" in longshore(cluster, "describe", "model", "digits")
    assert longshore(cluster, "delete", "model", "digits") == "Model default/digits deleted\n"
    assert "there is none of this kind" in longshore(cluster, "delete", "model", "digits", code=3)


def test_takes_the_namespace_of_the_context_or_the_one_that_is_said(cluster):
    cluster.kubectl("create", "namespace", "vision")
    assert longshore(cluster, "apply", "-n", "vision", "-f", "-", stdin=MODEL) == "Model vision/digits created\n"
    elsewhere = MODEL.replace("name: digits", "name: digits, namespace: vision")
    assert longshore(cluster, "apply", "-f", "-", stdin=elsewhere) == "Model vision/digits unchanged\n"
    assert "digits" not in longshore(cluster, "get", "models")
    assert "digits" in longshore(cluster, "get", "models", "-n", "vision")
    assert "vision" in longshore(cluster, "get", "models", "-A")


def test_is_a_plugin_of_kubectl(cluster, tmp_path):
    (tmp_path / "kubectl-longshore").symlink_to(BIN / "longshore")
    environment = cluster.environment()
    environment["PATH"] = f"{tmp_path}:{cluster.binaries}:{os.environ['PATH']}"
    done = subprocess.run(["kubectl", "longshore", "get", "fleets"], env=environment, text=True, capture_output=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_command_that_nobody_takes_is_withdrawn(cluster):
    longshore(cluster, "apply", "-f", "-", stdin=MODEL)
    assert "nobody took" in longshore(cluster, "promote", "digits", "--timeout=1s", code=4)
    status = json.loads(longshore(cluster, "get", "models", "digits", "-o", "json"))["status"]
    assert "command" not in status


def test_says_what_is_wrong(cluster, tmp_path):
    assert "cannot open none" in longshore(cluster, "--kubeconfig", "none", "get", "models", code=3)
    assert 'there is no context "else"' in longshore(cluster, "--context", "else", "get", "models", code=3)
    wrong = MODEL.replace("fleet: cpu", "fleet: cpu, color: red")
    assert "spec.color" in longshore(cluster, "apply", "-f", "-", stdin=wrong, code=2)
    foreign = Authority(tmp_path / "foreign")
    kubeconfig = cluster.kubeconfig.read_text()
    line = next(line for line in kubeconfig.splitlines() if "certificate-authority-data" in line)
    other = tmp_path / "config"
    other.write_text(kubeconfig.replace(line.split(": ")[1].strip(), encoded(foreign.certificate)))
    assert "handshake" in longshore(cluster, "--kubeconfig", other, "get", "models", code=1)


def secret(cluster, data=None):
    cluster.kubectl("delete", "secret", "ca", "--ignore-not-found")
    cluster.kubectl("apply", "-f", "-", input=json.dumps({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca", "namespace": "default"}, "data": data or {}}))


def contents(cluster):
    return json.loads(cluster.kubectl("get", "secret", "ca", "-o", "json"))


def test_an_authority_is_made_once(cluster):
    secret(cluster)
    assert longshore(cluster, "ca", "ensure", "--secret=ca") == "Secret default/ca: an authority was made\n"
    made = contents(cluster)
    assert made["immutable"] and set(made["data"]) == {"tls.crt", "tls.key"}
    assert "the authority is there, until" in longshore(cluster, "ca", "ensure", "--secret=ca", "-n", "default")
    assert contents(cluster) == made


def test_what_is_in_a_secret_is_never_written_over(cluster):
    secret(cluster)
    longshore(cluster, "ca", "ensure", "--secret=ca")
    whole = contents(cluster)["data"]
    for part in ({"tls.crt": whole["tls.crt"]}, {"tls.key": whole["tls.key"]}, {**whole, "tls.key": "bm9uZQ=="}):
        secret(cluster, part)
        before = contents(cluster)
        assert "is not written over" in longshore(cluster, "ca", "ensure", "--secret=ca", code=1)
        assert contents(cluster) == before
    assert "not found" in longshore(cluster, "ca", "ensure", "--secret=none", code=3)
