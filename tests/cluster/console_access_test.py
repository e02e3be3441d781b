"""The web console of controllers on a cluster, with a real API server: who may read, who may give commands, and what a standby says."""

import base64
import json
import pathlib
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from control_plane import ISSUER, ControlPlane
from leadership_test import BIN, FLEET, WAIT_MAX_S, Controller, leader_of
from program import wait_for

AUDIENCE = "longshore-console"
SUBJECTS = {"console_admins": "system:serviceaccount:default:anna", "console_readers": "system:serviceaccount:default:ben"}
MODEL = """
apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: digits}
spec: {fleet: cpu, source: {uri: "file:///models/digits"}, version: 1}
"""


@pytest.fixture(scope="module")
def cluster():
    with ControlPlane() as control_plane:
        control_plane.kubectl("apply", "-f", "-", input=FLEET)
        control_plane.kubectl("apply", "-f", "-", input=MODEL)
        for name in ("anna", "ben", "carl"):
            control_plane.kubectl("create", "serviceaccount", name)
        yield control_plane


class Console:
    """A controller with a console on both listeners, under any free ports."""

    def __init__(self, cluster, folder, **flags):
        self.controller = Controller(cluster, folder, console_service_address="127.0.0.1:0", **{**SUBJECTS, **flags})
        ports = wait_for("the ports of the console", self.ports, WAIT_MAX_S, [self.controller.program])
        self.local = f"http://127.0.0.1:{ports['console']}"
        self.service = f"https://localhost:{ports['consoleService']}"
        self.tls = ssl.create_default_context(cafile=folder / "ca" / "ca.crt")

    def ports(self):
        ports = json.loads((self.controller.folder / "port").read_text())
        return ports if "consoleService" in ports else None

    def ask(self, url, token=None, body=None):
        """Returns the status and the JSON of the answer."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, headers=headers, data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=20, context=self.tls if url.startswith("https") else None) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def overview(self, token=None):
        return self.ask(f"{self.service}/api/v1/overview", token)


@pytest.fixture(scope="module")
def console(cluster, tmp_path_factory):
    console = Console(cluster, tmp_path_factory.mktemp("console") / "controller")
    wait_for("the controller to lead", lambda: console.controller.epoch() > 0, WAIT_MAX_S, [console.controller.program])
    wait_for("data", lambda: console.ask(f"{console.local}/api/v1/overview")[0] == 200, WAIT_MAX_S)
    yield console
    console.controller.end()


def token_of(cluster, name, audience=AUDIENCE):
    return cluster.kubectl("create", "token", name, "--audience", audience).strip()


def encoded(part):
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def signed(head, claims, key):
    """A JSON Web Token, RS256."""
    text = f"{encoded(json.dumps(head).encode())}.{encoded(json.dumps(claims).encode())}"
    signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=text.encode(), capture_output=True, check=True).stdout
    return f"{text}.{encoded(signature)}"


def changed(cluster, token, key=None, **claims):
    """The token with other claims, signed by the key of the API server or by another one. None removes a claim."""
    head, body, _ = token.split(".")
    decoded = [json.loads(base64.urlsafe_b64decode(part + "==")) for part in (head, body)]
    wanted = {name: value for name, value in {**decoded[1], **claims}.items() if value is not None}
    return signed(decoded[0], wanted, key or cluster.token_keys[0])


def test_on_the_loopback_address_reading_needs_no_token(console):
    status, overview = console.ask(f"{console.local}/api/v1/overview")
    assert status == 200
    assert [model["name"] for model in overview["models"]] == ["digits"]
    assert console.ask(f"{console.local}/api/v1/fleets/default/cpu")[1]["nodes"] == []


def test_by_the_service_each_request_for_data_needs_a_token(cluster, console):
    assert console.overview()[0] == 401
    for name in ("anna", "ben"):
        assert console.overview(token_of(cluster, name))[0] == 200
    assert console.ask(f"{console.service}/api/v1/access")[1]["readingNeedsToken"]


def test_only_valid_tokens_of_the_subjects_are_accepted(cluster, console):
    valid = token_of(cluster, "anna")
    assert console.overview(changed(cluster, valid))[0] == 200, "the test signs as the API server does"
    assert console.overview(token_of(cluster, "carl")) == (
        403, {"error": "system:serviceaccount:default:carl may not use this console."})
    foreign, _ = cluster.authority.key_pair("foreign")
    refused = {
        "another audience": (token_of(cluster, "anna", "longshore-controller"), "audience"),
        "the API server's audience": (token_of(cluster, "anna", ISSUER), "audience"),
        "expired": (changed(cluster, valid, exp=1_000_000_000), "expired"),
        "not valid yet": (changed(cluster, valid, nbf=10_000_000_000, exp=20_000_000_000), "not valid yet"),
        "another issuer": (changed(cluster, valid, iss="https://evil.test"), "issuer"),
        "without an issuer": (changed(cluster, valid, iss=None), "issuer"),
        "another key": (changed(cluster, valid, foreign), "not signed"),
        "without a subject": (changed(cluster, valid, sub=None), "names no subject"),
        "no signature": (valid.rpartition(".")[0] + ".", ""),
        "no token": ("anna", ""),
    }
    for what, (token, reason) in refused.items():
        status, answer = console.overview(token)
        assert status == 401 and reason in answer["error"], (what, status, answer)



def test_a_reader_gives_no_commands(cluster, console):
    body = {"verb": "retry", "seen": {"generation": 1}}
    for url in (console.local, console.service):
        assert console.ask(f"{url}/api/v1/models/default/digits/commands", token_of(cluster, "ben"), body)[0] == 403
    assert console.ask(f"{console.local}/api/v1/models/default/digits/commands", None, body)[0] == 401


def test_a_command_of_an_admin_goes_through_the_status_of_the_model(cluster, console):
    """Without nodes there is no rollout, but a version that has failed can be tried again."""
    path = "/api/v1/models/default/digits"
    digits = json.loads(cluster.kubectl("get", "model", "digits", "-o", "json"))
    failed = {"version": 1, "generation": digits["metadata"]["generation"], "reason": "GoldenSet"}
    cluster.kubectl("patch", "model", "digits", "--subresource=status", "--type=merge", "-p", json.dumps({"status": {"failed": [failed]}}))
    offers = wait_for("the command retry", lambda: console.ask(console.local + path)[1]["offers"], WAIT_MAX_S)
    assert [offer["verb"] for offer in offers] == ["retry"]
    body = {"verb": "retry", "seen": offers[0]["seen"]}
    assert console.ask(f"{console.service}{path}/commands", token_of(cluster, "anna"), body) == (200, {"answer": "retry: done"})
    status = json.loads(cluster.kubectl("get", "model", "digits", "-o", "json"))["status"]
    assert status["answers"][-1]["verb"] == "retry"
    assert "retry, by system:serviceaccount:default:anna" in [event["message"] for event in status["history"]]
    code, answer = console.ask(f"{console.local}{path}/commands", token_of(cluster, "anna"), body)
    refused = subprocess.run([BIN / "longshore", "retry", "digits"], env=cluster.environment(), text=True, capture_output=True,
                             timeout=30, check=False)
    assert (code, f"longshore: {answer['error']}\n") == (409, refused.stderr), "the reason is that of the command line"


def test_a_standby_names_the_leader_and_has_no_data(cluster, console, tmp_path):
    standby = Console(cluster, tmp_path / "standby")
    try:
        leader_of(console.controller, standby.controller)
        token = token_of(cluster, "anna")
        pod = json.loads(cluster.kubectl("get", "lease", "longshore-controller", "-o", "json"))["spec"]["holderIdentity"].rpartition("_")[0]
        wait_for("the standby to know the leader", lambda: pod in standby.overview(token)[1]["error"], WAIT_MAX_S)
        assert standby.overview(token)[0] == 503
        assert standby.overview()[0] == 401
        assert standby.ask(f"{standby.service}/api/v1/access", token)[1]["mayCommand"]
    finally:
        standby.controller.program.end()


def test_longshore_console_forwards_a_port_to_the_pod_that_leads(cluster, console, tmp_path):
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\necho "$@"\n')
    kubectl.chmod(0o755)
    environment = {**cluster.environment(), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    environment.pop("LONGSHORE_MANIFESTS", None)
    run = lambda *words: subprocess.run([BIN / "longshore", "console", *words], env=environment, text=True,  # noqa: E731
                                        capture_output=True, timeout=30, check=False)
    pod = json.loads(cluster.kubectl("get", "lease", "longshore-controller", "-o", "json"))["spec"]["holderIdentity"].rpartition("_")[0]
    done = run("-n", "default", "--port", "9000")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"http://127.0.0.1:9000 is the console of pod {pod} until you press Ctrl-C.",
                                        "When this pod ends, for example by an upgrade, run this command again.",
                                        f"port-forward --namespace=default pod/{pod} 9000:8620"]
    done = run("-n", "kube-system")
    assert done.returncode == 3 and "no controller is installed in namespace kube-system: it has no Lease longshore-controller" in done.stderr
