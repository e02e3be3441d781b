"""Commands to rollouts with a real API server. A thread takes the part of the controller: it writes the status all the time."""

import json
import pathlib
import subprocess
import sys
import threading

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "crds")]

from api import GROUP, Api, ApiError
from cli_test import BIN, longshore, model_named

CRD = "customresourcedefinitions/models.longshore.dev"
FIELD = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/commands"


@pytest.fixture
def model(plain_control_plane):
    """The name of a Model without a status."""
    name = "commanded"
    longshore(plain_control_plane, "apply", "-f", "-", stdin=model_named(name))
    yield name
    plain_control_plane.kubectl("delete", "models", name)


class Controller:
    """Counts its writes in status.epoch, and answers each command with its id, both by compare-and-set. Keeps all statuses that it wrote."""

    def __init__(self, control_plane, model):
        self.api = Api(control_plane.url(), control_plane.tls)
        self.path = f"{GROUP}/models/{model}"
        self.counted = 0
        self.conflicts = 0
        self.taken = []
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def read(self):
        return self.api.request("GET", self.path)

    def write(self, found, status):
        try:
            self.api.request("PUT", self.path + "/status", {**found, "status": status}, fieldManager="longshore")
            return True
        except ApiError as error:
            assert error.status == 409
            self.conflicts += 1
            return False

    def run(self):
        while not self.ending.is_set():
            found = self.read()
            status = found.get("status", {})
            commands = status.pop("commands", [])
            answers = [{"id": one["id"], "verb": one["verb"], "result": "Done", "message": f"by {one['id']}"} for one in commands]
            answered = {**status, "epoch": status.get("epoch", 0) + 1, "answers": status.get("answers", []) + answers}
            if self.write(found, answered):
                self.counted += 1
                self.taken += commands

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_failure):
        self.ending.set()
        self.thread.join()


def test_a_command_overwrites_no_write_of_the_controller_and_each_caller_gets_its_own_answer(plain_control_plane, model):
    verbs = {f"caller-{verb}-{number}": verb for verb in ("promote", "abort", "pause", "resume", "retry", "undo") for number in range(3)}
    with Controller(plain_control_plane, model) as controller:
        calls = {one: subprocess.Popen([BIN / "longshore", verb, model, "--id", one, "--timeout=60s"], env=plain_control_plane.environment(),
                                       stdout=subprocess.PIPE, text=True) for one, verb in verbs.items()}
        said = {one: call.communicate(timeout=120)[0] for one, call in calls.items()}
    assert said == {one: f"{verb}: done: by {one}\n" for one, verb in verbs.items()}
    status = controller.read()["status"]
    assert status["epoch"] == controller.counted
    assert sorted(answer["id"] for answer in status["answers"]) == sorted(verbs)
    assert sorted((one["id"], one["verb"], one["generation"]) for one in controller.taken) == sorted((*one, 1) for one in verbs.items())
    print(f"{controller.counted} writes of the controller between {len(verbs)} commands, {controller.conflicts} conflicts")


def test_a_command_is_the_only_field_that_the_caller_owns(plain_control_plane, model):
    api = Api(plain_control_plane.url(), plain_control_plane.tls)
    api.request("PATCH", f"{GROUP}/models/{model}/status", {"status": {"stableVersion": 1, "history": [{"what": "Promoted"}]}},
                "application/merge-patch+json", fieldManager="longshore")
    with subprocess.Popen([BIN / "longshore", "pause", model, "--id=mine", "--timeout=5s"], env=plain_control_plane.environment(),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as call:
        found = {}
        while not found.get("status", {}).get("commands"):
            found = api.request("GET", f"{GROUP}/models/{model}")
        owned = {one["manager"]: one["fieldsV1"] for one in found["metadata"]["managedFields"] if one.get("subresource") == "status"}
        assert list(owned["longshore-command"]["f:status"]) == ["f:commands"]
        assert set(owned["longshore"]["f:status"]) - {"."} == {"f:stableVersion", "f:history"}
        assert call.wait(timeout=60) == 4
    assert api.request("GET", f"{GROUP}/models/{model}")["status"] == {"stableVersion": 1, "history": [{"what": "Promoted"}]}


def test_with_the_kinds_of_an_older_release_the_error_names_the_release(plain_control_plane, model):
    crd = json.loads(plain_control_plane.kubectl("get", CRD, "-o", "json"))
    plain_control_plane.kubectl("patch", CRD, "--type=json", "-p", json.dumps([{"op": "remove", "path": FIELD}]))
    try:
        for _ in range(100):  # The server takes a moment to use the new schema.
            said = longshore_fails(plain_control_plane, "pause", model, "--timeout=100ms")
            if "custom resources of a release before 0.2" in said:
                break
        assert "use the longshore of that release, or upgrade the cluster" in said
    finally:
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["commands"]
        plain_control_plane.kubectl("patch", CRD, "--type=json", "-p", json.dumps([{"op": "add", "path": FIELD, "value": schema}]))
    for _ in range(100):
        if "no controller took" in longshore_fails(plain_control_plane, "pause", model, "--timeout=100ms"):
            break
    else:
        pytest.fail("the schema was not restored")


def longshore_fails(control_plane, *words):
    done = subprocess.run([BIN / "longshore", *words], env=control_plane.environment(), text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode in (1, 4), done.stdout + done.stderr
    return done.stderr
