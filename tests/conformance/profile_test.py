"""Recordings of a node's runs in the format of trace viewers, and `longshore profile`, which fetches them."""

import json
import subprocess
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
import tensorflow as tf
from auth_test import WEB
from calls import MODELS, SECONDS
from serving import BINARY, running_node

pytestmark = pytest.mark.contract("S12")
LONGSHORE = BINARY.parent / "longshore"
IMAGES = np.fromfile(MODELS / "digits/traffic.f32", "<f4").reshape(-1, 8, 8, 1)[:2]


@pytest.fixture
def node(tmp_path):
    with running_node(tmp_path, "digits", MODELS / "digits") as started:
        yield started.serving()


class Looped(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def serve(self, x):
        return {"y": tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * 2.0), [0, x])[1]}


def admin(node, method: str, path: str, body: str | None = None) -> tuple[int, str]:
    request = urllib.request.Request(node.admin_url + path, data=None if body is None else body.encode(), method=method)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def start_recording(node, **wanted) -> None:
    status, text = admin(node, "POST", "/debug/profile", json.dumps(wanted))
    assert (status, json.loads(text)["state"]) == (200, "recording")


def trace(node) -> dict:
    status, text = admin(node, "GET", "/debug/profile")
    assert status == 200
    return json.loads(text)


def slices_of(trace: dict) -> dict[tuple[int, int], list[dict]]:
    rows: dict[tuple[int, int], list[dict]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            rows.setdefault((event["pid"], event["tid"]), []).append(event)
    return rows


def end(event: dict) -> float:
    return event["ts"] + event["dur"]


def parents(row: list[dict]) -> list[tuple[dict, dict | None]]:
    """Each slice with its parent, the slice that contains it. Slices that overlap without nesting are an error."""
    found, enclosing = [], []
    for event in row:
        while enclosing and end(enclosing[-1]) <= event["ts"] + 1e-6:
            enclosing.pop()
        assert not enclosing or end(event) <= end(enclosing[-1]) + 1e-6, (event, enclosing[-1])
        found.append((event, enclosing[-1] if enclosing else None))
        enclosing.append(event)
    return found


def longshore(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([LONGSHORE, "profile", *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS)


def test_each_run_contains_the_slices_of_its_ops(node):
    before = node.predict({"image": IMAGES})
    start_recording(node, model="digits", runs=3)
    for _ in range(4):
        for name, value in node.predict({"image": IMAGES}).items():
            np.testing.assert_array_equal(value, before[name])
    recorded = trace(node)
    assert recorded["otherData"]["state"] == "done"
    [row] = slices_of(recorded).values()
    runs = [event for event, parent in parents(row) if parent is None]
    assert [run["name"] for run in runs] == ["serving_default"] * 3
    for run in runs:
        inner = [event for event, parent in parents(row) if parent is run]
        assert sum(event["dur"] for event in inner) <= run["dur"]
        ops = [event for event in inner if event["cat"] != "plan"]
        assert len(ops) == run["args"]["nodes"]
        assert {"Conv2D", "MatMul", "Softmax"} <= {event["name"] for event in ops}
        assert all(event["args"]["runs_as"].split()[0] in ("onednn", "loops", "kernel") for event in ops)
        first = ops[0]["args"]
        assert first["output"].startswith("DT_FLOAT [2,8,8,")
        assert first["output_bytes"] == 4 * np.prod(json.loads(first["output"].split()[1]))
        assert run["args"]["inputs"] == "image DT_FLOAT [2,8,8,1]"
        assert run["args"]["memory_bytes"] >= first["output_bytes"]


def test_the_memory_of_a_run_returns_to_zero(node):
    start_recording(node, runs=2)
    for _ in range(2):
        node.predict({"image": IMAGES})
    counts = [event for event in trace(node)["traceEvents"] if event["ph"] == "C"]
    assert [event["ts"] for event in counts] == sorted(event["ts"] for event in counts)
    values = [event["args"]["bytes"] for event in counts]
    assert min(values) == values[-1] == 0 < max(values)


def test_the_ops_of_a_loop_are_inside_its_slice(tmp_path):
    looped = Looped()
    tf.saved_model.save(looped, str(tmp_path / "looped/1"), signatures=looped.serve)
    with running_node(tmp_path, "looped", tmp_path / "looped") as node:
        node.serving()
        start_recording(node, runs=1)
        node.predict({"x": np.array([1, 2], np.float32)})
        [row] = slices_of(trace(node)).values()
    inner = [(event["name"], parent["name"]) for event, parent in parents(row) if parent is not None]
    assert ("StatelessWhile", "serving_default") in inner
    assert inner.count(("Sin", "StatelessWhile")) == 3


def test_concurrent_runs_have_separate_rows(tmp_path):
    with running_node(tmp_path, "digits", MODELS / "digits", "--max_concurrent_runs=4") as node:
        node.serving()
        start_recording(node, runs=200)
        calls = [node.predictions.Predict.future(node.request({"image": IMAGES}), timeout=SECONDS) for _ in range(200)]
        for call in calls:
            call.result()
        recorded = trace(node)
    for row in slices_of(recorded).values():
        parents(row)
    assert recorded["otherData"]["runs"] == 200


@pytest.mark.parametrize("body, status, message", [
    ('{"runs": 0}', 400, "runs: 0 is not a whole number from 1 to 1000"),
    ('{"runs": "abc"}', 400, 'runs: "abc" is not a whole number'),
    ('{"seconds": 1e9}', 400, "seconds: 1000000000.0 is not a whole number from 1 to 300"),
    ('{"rums": 1}', 400, 'unknown field "rums": the fields are model, runs and seconds'),
    ("runs=5", 400, "not JSON"),
    ('{"model": "none"}', 404, 'there is no model "none" on this node: use one of digits')])
def test_an_invalid_request_is_explained_and_starts_no_recording(node, body, status, message):
    refused, text = admin(node, "POST", "/debug/profile", body)
    assert (refused, message in text) == (status, True), text
    for path in ("/debug/profile", "/debug/profile/state"):
        assert admin(node, "GET", path)[0] == 404


def test_only_one_recording_runs_at_a_time_and_it_ends_on_its_own(node):
    start_recording(node, runs=5, seconds=1)
    status, text = admin(node, "POST", "/debug/profile")
    assert (status, "a recording is in progress: 0 of 5 runs" in text) == (409, True), text
    first = node.admin_json("/debug/profile/state")["id"]
    node.until(lambda: node.admin_json("/debug/profile/state")["state"] == "done" or None)
    node.predict({"image": IMAGES})
    assert trace(node)["traceEvents"] == []
    assert trace(node)["otherData"]["id"] == first
    start_recording(node)
    assert trace(node)["otherData"]["id"] == first + 1


def test_the_command_writes_a_trace(node, tmp_path):
    stop = threading.Event()

    def send():
        while not stop.is_set():
            node.predict({"image": IMAGES})
    sender = threading.Thread(target=send)
    sender.start()
    try:
        out = tmp_path / "trace.json"
        done = longshore(f"127.0.0.1:{node.admin_port}", "--model", "digits", "--runs", 3, "--out", out)
        printed = longshore(node.admin_url, "--runs", 1, "--out", "-")
    finally:
        stop.set()
        sender.join()
    assert done.returncode == 0, done.stderr
    assert 'waiting for 3 runs of model "digits"' in done.stderr
    assert f"{out}: 3 runs, " in done.stderr
    assert json.loads(out.read_text())["otherData"]["runs"] == 3
    assert json.loads(printed.stdout)["otherData"]["runs"] == 1


def test_the_command_explains_errors(node, tmp_path):
    address = f"127.0.0.1:{node.admin_port}"
    out = tmp_path / "none.json"
    for arguments, code, message in [
            (("--model", "none"), 3, 'there is no model "none" on this node'),
            (("--runs", "0"), 2, "--runs"),
            (("--runs", "abc"), 2, "--runs"),
            (("--seconds", 1), 4, "no run of any model happened within 1 s"),
            (("--token-file", tmp_path / "nothing"), 3, "--token-file")]:
        ended = longshore(address, "--out", out, *arguments)
        assert (ended.returncode, message in ended.stderr) == (code, True), ended.stderr
    assert not out.exists()
    for path, message in [(tmp_path / "none/trace.json", "--out: cannot write to folder"), (tmp_path, "is a folder")]:
        ended = longshore(address, "--out", path)
        assert (ended.returncode != 0, message in ended.stderr) == (True, True), ended.stderr
    start_recording(node)
    ended = longshore(address, "--out", out)
    assert (ended.returncode, "a recording is in progress" in ended.stderr) == (1, True), ended.stderr
    assert longshore("127.0.0.1:1", "--out", out).returncode == 1


def test_the_command_sends_its_token(tmp_path):
    (tmp_path / "tokens").write_text(f"web {WEB}\n")
    (tmp_path / "token").write_text(WEB + "\n")
    with running_node(tmp_path, "digits", MODELS / "digits", f"--auth_tokens_file={tmp_path}/tokens") as node:
        node.ready()
        assert admin(node, "POST", "/debug/profile")[0] == 401
        address = f"127.0.0.1:{node.admin_port}"
        refused = longshore(address, "--seconds", 1)
        assert (refused.returncode, "use --token-file" in refused.stderr) == (1, True), refused.stderr
        waited = longshore(address, "--seconds", 1, "--token-file", tmp_path / "token")
        assert (waited.returncode, "no run" in waited.stderr) == (4, True), waited.stderr
