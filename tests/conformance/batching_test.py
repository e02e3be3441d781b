"""Batching: the parameters of TensorFlow Serving and their effects, priorities and deadlines."""

import concurrent.futures
import contextlib
import json
import shutil

import grpc
import numpy as np
import pytest
import tensorflow as tf
from calls import MODELS, SECONDS, call_error, predict, request, run_node
from oip import call, infer_request
from serving import running_node

HALF = MODELS / "half_plus_two_tf1"

# A timeout longer than a test, so that a batch runs only when it is full. It is shorter than the calls' deadlines.
FULL = {"batch_timeout_micros": 25_000_000}


def parameters(**values) -> str:
    """The text of a BatchingParameters file."""
    lines = []
    for name, value in values.items():
        if isinstance(value, list):
            lines += [f"{name}: {one}" for one in value]
        elif name == "pad_variable_length_inputs":
            lines.append(f"{name}: {value}")
        else:
            lines.append(f"{name} {{ value: {value} }}")
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def batching(tmp_path, model, *flags: str, **values):
    file = tmp_path / "batching.txt"
    file.write_text(parameters(**values))
    with running_node(tmp_path, model, MODELS / model, "--enable_batching", f"--batching_parameters_file={file}",
                      *flags) as node:
        yield node.serving()


def halves(node, *rows: float) -> list[float]:
    return list(predict(node, request(node.model, x=np.array(rows, np.float32))).outputs["y"].float_val)


def predict_concurrently(node, requests: list[list[float]]) -> list[list[float]]:
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as clients:
        return list(clients.map(lambda rows: halves(node, *rows), requests))



def start_error(*flags: str) -> str:
    done = run_node(f"--model_base_path={HALF}", *flags)
    assert done.returncode != 0
    return done.stdout + done.stderr


@pytest.mark.contract("B1")
def test_requests_run_in_one_batch_and_each_gets_its_own_rows(tmp_path):
    with batching(tmp_path, "half_plus_two_tf1", max_batch_size=4, **FULL) as node:
        assert predict_concurrently(node, [[2], [4, 6], [8]]) == [[3], [4, 5], [6]]


@pytest.mark.contract("B2")
def test_a_request_larger_than_a_batch_is_rejected(tmp_path):
    with batching(tmp_path, "half_plus_two_tf1", max_batch_size=2) as node:
        x = np.array([1, 2, 3], np.float32)
        assert call_error(node.predictions.Predict, request(node.model, x=x)) == (
            grpc.StatusCode.INVALID_ARGUMENT, "Task size 3 is larger than maximum input batch size 2")
        assert halves(node, 2, 4) == [3, 4]


@pytest.mark.contract("B15")
@pytest.mark.parametrize("shape", [(3,), (), (5, 2), (0, 1)])
def test_a_request_of_another_shape_than_the_signatures_runs_alone(tmp_path, shape):
    """The signature says [-1, 1]. The batches never fill, so only a request that runs alone is answered."""
    with batching(tmp_path, "examples_tf1", max_batch_size=4, **FULL) as node:
        x = np.ones(shape, np.float32)
        y = tf.make_ndarray(node.predictions.Predict(request(node.model, x=x), timeout=10).outputs["y"])
        np.testing.assert_array_equal(y, x / 2 + 2)


@pytest.mark.contract("B3")
def test_the_number_of_waiting_batches_is_limited(tmp_path):
    with batching(tmp_path, "half_plus_two_tf1", "--simulated_run_ms=3000", max_batch_size=2, max_enqueued_batches=1,
                  num_batch_threads=1) as node:
        make = lambda: request(node.model, x=np.array([2, 4], np.float32))  # noqa: E731
        load = lambda: node.admin_json("/debug/state")["load"]  # noqa: E731
        running = node.predictions.Predict.future(make(), timeout=30)
        node.until(lambda: load()["running"] == 1 or None)
        waiting = node.predictions.Predict.future(make(), timeout=30)
        node.until(lambda: load()["queued"] == 1 or None)
        code, text = call_error(node.predictions.Predict, make())
        assert code == grpc.StatusCode.UNAVAILABLE
        assert text.startswith("The batch scheduling queue to which this task was submitted is full; ")
        assert list(running.result().outputs["y"].float_val) == [3, 4]
        assert list(waiting.result().outputs["y"].float_val) == [3, 4]


@pytest.mark.contract("B16")
def test_without_batching_at_most_1000_requests_of_a_model_wait(tmp_path):
    with running_node(tmp_path, HALF.name, HALF, "--max_concurrent_runs=1", "--simulated_run_ms=20000",
                      "--grpc_max_concurrent_streams=2000") as node:
        node.serving()
        made = request(node.model, x=np.array([2], np.float32))
        waiting = [node.predictions.Predict.future(made) for _ in range(1001)]  # One of them runs.
        node.until(lambda: node.admin_json("/debug/state")["load"]["queued"] == 1000 or None)
        with pytest.raises(grpc.RpcError) as caught:
            node.predictions.Predict(made)
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
        assert caught.value.details() == ("The batch scheduling queue to which this task was submitted is full; "
                                          "1000 requests wait already")
        for each in waiting:
            each.cancel()


@pytest.mark.contract("B1")
def test_num_batch_threads_is_the_number_of_concurrent_batches(tmp_path):
    with batching(tmp_path, "half_plus_two_tf1", num_batch_threads=3) as node:
        assert node.admin_json("/debug/state")["load"]["run_slots"] == 3


@pytest.mark.contract("B1")
@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_padding_to_an_allowed_size_is_not_in_the_answer(tmp_path, rows):
    with batching(tmp_path, "half_plus_two_tf1", max_batch_size=5, allowed_batch_sizes=[2, 5]) as node:
        assert halves(node, *range(rows)) == [x / 2 + 2 for x in range(rows)]


def export_product(folder) -> None:
    """Writes version 1 of a model that multiplies rows of an unknown size by a column of four numbers."""
    class Product(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32, name="x")])
        def serve(self, x):
            return {"y": tf.matmul(x, tf.ones([4, 1]))}

    module = Product()
    tf.saved_model.save(module, str(folder / "1"), signatures=module.serve)


@pytest.mark.contract("B10")
def test_an_error_names_the_shape_that_the_client_sent_and_not_the_padded_one(tmp_path):
    export_product(tmp_path / "product")
    (tmp_path / "batching.txt").write_text(parameters(max_batch_size=64, allowed_batch_sizes=[1, 8, 64]))
    with running_node(tmp_path, "product", tmp_path / "product", "--enable_batching",
                      f"--batching_parameters_file={tmp_path}/batching.txt") as node:
        node.serving()
        x = np.ones((2, 3), np.float32)
        code, grpc_text = call_error(node.predictions.Predict, request("product", x=x))
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        status, rest_answer = node.rest_predict({"instances": x.tolist()})
        assert status == 400
        code, infer_text = call_error(lambda made, timeout: call(node, "ModelInfer", made), infer_request("product", "FP32", x))
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        status, oip_text = node.rest("/v2/models/product/infer", json.dumps(
            {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 3], "data": x.ravel().tolist()}]}))
        assert status == 400
        for text in (grpc_text, rest_answer["error"], infer_text, oip_text):
            assert "[2,3]" in text and "[8,3]" not in text, text
        good = node.predictions.Predict(request("product", x=np.ones((2, 4), np.float32)), timeout=SECONDS)
        assert list(good.outputs["y"].float_val) == [4, 4]


@pytest.mark.contract("B5")
@pytest.mark.parametrize("text, message", [
    ("max_batch_size: 3", ":1:"),
    ("max_size { value: 3 }", 'no field named "max_size"'),
    ("max_batch_size { value: 0 }", ":1:1: max_batch_size is 0"),
    ("max_batch_size { value: 4 }\nallowed_batch_sizes: 4\nallowed_batch_sizes: 4", ":3:1: allowed_batch_sizes 4 is not above 4"),
    ("max_batch_size { value: 8 }\nallowed_batch_sizes: 4", ":2:1: allowed_batch_sizes ends with 4"),
    ("num_batch_threads { value: 0 }", ":1:1: num_batch_threads is 0"),
    ("num_batch_threads { value: 4097 }", ":1:1: num_batch_threads is 4097; it must be from 1 to 4096"),
    ("max_enqueued_batches { value: 0 }", ":1:1: max_enqueued_batches is 0; it must be from 1 to "),
    ("batch_timeout_micros { value: -1 }", ":1:1: batch_timeout_micros is -1")])
def test_an_invalid_file_ends_the_start_with_file_line_and_field(tmp_path, text, message):
    file = tmp_path / "batching.txt"
    file.write_text(text)
    output = start_error("--enable_batching", f"--batching_parameters_file={file}")
    assert f"--batching_parameters_file: {file}" in output and message in output


@pytest.mark.contract("B4")
def test_a_parameters_file_without_enable_batching_ends_the_start(tmp_path):
    message = "server_options.batching_parameters_file is set without setting server_options.enable_batching to true."
    assert message in start_error(f"--batching_parameters_file={tmp_path}/batching.txt")
    assert f"{tmp_path}/missing.txt" in start_error("--enable_batching", f"--batching_parameters_file={tmp_path}/missing.txt")


@pytest.mark.contract("B6")
def test_each_version_has_its_own_batching_parameters(tmp_path):
    base = tmp_path / "half"
    shutil.copytree(HALF / "1", base / "1")
    shutil.copytree(HALF / "1", base / "2")
    (base / "2" / "batching_params.pbtxt").write_text(parameters(max_batch_size=2))
    config = tmp_path / "models.config"
    config.write_text(f'model_config_list {{ config {{ name: "half" base_path: "{base}" model_platform: "tensorflow" '
                      "model_version_policy { all {} } } }")
    with running_node(tmp_path, "half", None, f"--model_config_file={config}", "--enable_batching",
                      "--enable_per_model_batching_parameters") as node:
        node.until(lambda: len([one for one in node.statuses() if one.state == 30]) == 2 or None)
        three = {"x": np.array([2, 4, 6], np.float32)}
        assert list(predict(node, request("half", version=1, **three)).outputs["y"].float_val) == [3, 4, 5]
        assert call_error(node.predictions.Predict, request("half", version=2, **three)) == (
            grpc.StatusCode.INVALID_ARGUMENT, "Task size 3 is larger than maximum input batch size 2")


@pytest.mark.contract("B6")
def test_a_version_with_an_invalid_parameters_file_does_not_load(tmp_path):
    base = tmp_path / "half"
    shutil.copytree(HALF / "1", base / "1")
    (base / "1" / "batching_params.pbtxt").write_text("max_batch_size { value: 0 }")
    with running_node(tmp_path, "half", base, "--max_num_load_retries=0", "--enable_batching",
                      "--enable_per_model_batching_parameters") as node:
        assert "batching_params.pbtxt:1:1: max_batch_size is 0" in node.refusal()
    assert "needs --enable_batching" in start_error("--enable_per_model_batching_parameters")


@pytest.mark.contract("B7")
def test_rows_of_different_sizes_are_padded_and_run_together_if_configured(tmp_path):
    with batching(tmp_path, "types", pad_variable_length_inputs="true", max_batch_size=2, **FULL) as node:
        with concurrent.futures.ThreadPoolExecutor(2) as clients:
            ask = lambda row: predict(node, request("types", "float32", x=np.array([row], np.float32)))  # noqa: E731
            answers = list(clients.map(ask, [[1.0], [2.0, 3.0, 4.0]]))
    assert [tf.make_ndarray(answer.outputs["y"]).tolist() for answer in answers] == [[[1, 1, 1]], [[2, 3, 4]]]


@pytest.mark.contract("B8")
def test_rows_of_different_sizes_run_separately_by_default(tmp_path):
    with batching(tmp_path, "types", max_batch_size=8, batch_timeout_micros=1000) as node:
        with concurrent.futures.ThreadPoolExecutor(2) as clients:
            ask = lambda row: predict(node, request("types", "float32", x=np.array([row], np.float32)))  # noqa: E731
            answers = list(clients.map(ask, [[1.0], [2.0, 3.0, 4.0]] * 8))
    assert [list(answer.outputs["y"].float_val) for answer in answers] == [[1], [2, 3, 4]] * 8


@pytest.mark.contract("B9")
def test_a_large_request_is_split_if_configured(tmp_path):
    with batching(tmp_path, "half_plus_two_tf1", max_batch_size=7, enable_large_batch_splitting="true",
                  max_execution_batch_size=2, allowed_batch_sizes=[1, 2]) as node:
        assert halves(node, *range(7)) == [x / 2 + 2 for x in range(7)]
        assert call_error(node.predictions.Predict, request(node.model, x=np.arange(8, dtype=np.float32))) == (
            grpc.StatusCode.INVALID_ARGUMENT, "Task size 8 is larger than maximum input batch size 7")


@pytest.mark.contract("B10")
def test_a_bad_request_does_not_fail_other_requests_of_its_batch(tmp_path):
    # The model parses Examples; an invalid one fails the whole run.
    bad, good = b"\xff\xff", tf.train.Example(features=tf.train.Features(feature={
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[4.0]))})).SerializeToString()
    with batching(tmp_path, "examples_tf1", max_batch_size=4, **FULL) as node:
        ask = lambda one: node.predictions.Predict.future(
            request("examples_tf1", "regress_x", inputs=np.array([one], object)), timeout=SECONDS)
        calls = [ask(one) for one in (good, good, bad, good)]
        codes = [call.code() for call in calls]
    assert codes == [grpc.StatusCode.OK, grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OK]
    assert {tuple(call.result().outputs["outputs"].float_val) for call in calls if call.code() == grpc.StatusCode.OK} == {(4.0,)}


@contextlib.contextmanager
def node_with_one_run_at_a_time(tmp_path, run_ms: int):
    with running_node(tmp_path, "half_plus_two_tf1", HALF, "--max_concurrent_runs=1",
                      f"--simulated_run_ms={run_ms}") as node:
        yield node.serving()


def start_predict(node, x: float, **more):
    return node.predictions.Predict.future(request(node.model, x=np.array([x], np.float32)), **{"timeout": SECONDS, **more})


def load(node) -> dict:
    return node.admin_json("/debug/state")["load"]


@pytest.mark.contract("B11")
def test_a_higher_priority_goes_first(tmp_path):
    ended = []
    with node_with_one_run_at_a_time(tmp_path, 300) as node:
        calls = [start_predict(node, 0)]
        node.until(lambda: load(node)["running"] == 1 or None)
        for priority in (0, 0, 9):
            calls.append(start_predict(node, priority, metadata=[("x-longshore-priority", str(priority))]))
            calls[-1].add_done_callback(lambda call, priority=priority: ended.append(priority))
            node.until(lambda: load(node)["queued"] == len(calls) - 1 or None)
        for call in calls:
            call.result()
        node.until(lambda: len(ended) == 3 or None)
    assert ended == [9, 0, 0]


@pytest.mark.contract("B11")
@pytest.mark.parametrize("priority", ["10", "-1", "high", ""])
def test_an_invalid_priority_is_rejected(half, priority):
    message = "x-longshore-priority is not a number from 0 to 9"
    with pytest.raises(grpc.RpcError) as caught:
        half.predictions.Predict(request(half.model, x=np.array([1], np.float32)), timeout=SECONDS,
                                 metadata=[("x-longshore-priority", priority)])
    assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.INVALID_ARGUMENT, message)


@pytest.mark.contract("B12")
def test_a_request_that_cannot_meet_its_deadline_is_rejected_immediately(tmp_path):
    with node_with_one_run_at_a_time(tmp_path, 800) as node:
        start_predict(node, 2).result()
        started = load(node)["started"]
        # For a second after this run its duration, 800 ms, is used as an estimate: a request with 500 ms left is rejected.
        call = start_predict(node, 2, timeout=0.5)
        assert call.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        assert call.details().startswith("The deadline is ") and "would take at least 8" in call.details()
        assert load(node)["started"] == started
        assert list(start_predict(node, 2, timeout=20).result().outputs["y"].float_val) == [3]


@pytest.mark.contract("B12")
def test_full_batches_before_a_request_count_against_its_deadline(tmp_path):
    with batching(tmp_path, "half_plus_two_tf1", "--simulated_run_ms=300", max_batch_size=2, num_batch_threads=1) as node:
        pair = lambda: node.predictions.Predict.future(
            request(node.model, x=np.array([2, 4], np.float32)), timeout=SECONDS)
        pair().result()
        before = [pair() for _ in range(6)]
        node.until(lambda: load(node)["queued"] >= 5 or None)
        call = start_predict(node, 2, timeout=0.9)
        assert call.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        assert "would take at least" in call.details()
        assert [list(one.result().outputs["y"].float_val) for one in before] == [[3, 4]] * 6
        assert load(node)["refused"] == 1


@pytest.mark.contract("B13")
def test_a_cancelled_request_leaves_the_queue_without_a_run(tmp_path):
    with node_with_one_run_at_a_time(tmp_path, 1000) as node:
        started = load(node)["started"]
        running = start_predict(node, 2)
        node.until(lambda: load(node)["running"] == 1 or None)
        waiting = [start_predict(node, 4) for _ in range(5)]
        node.until(lambda: load(node)["queued"] == 5 or None)
        for call in waiting:
            assert call.cancel()
        node.until(lambda: load(node)["queued"] == 0 or None)
        assert list(running.result().outputs["y"].float_val) == [3]
        assert load(node)["started"] == started + 1


@pytest.mark.contract("B14")
def test_a_flood_for_one_model_does_not_delay_another_model(tmp_path):
    config = tmp_path / "models.config"
    config.write_text("model_config_list {" + "".join(
        f'config {{ name: "{name}" base_path: "{HALF}" model_platform: "tensorflow" }}' for name in ("flood", "modest")) + "}")
    with running_node(tmp_path, "modest", None, f"--model_config_file={config}", "--max_concurrent_runs=1",
                      "--simulated_run_ms=100") as node:
        node.serving()
        ask = lambda name: node.predictions.Predict.future(
            request(name, x=np.array([2], np.float32)), timeout=SECONDS)
        node.until(lambda: node.rest("/v1/models/flood")[1].count("AVAILABLE") or None)
        flood = [ask("flood") for _ in range(60)]
        node.until(lambda: load(node)["queued"] > 40 or None)
        ask("modest").result()
        assert load(node)["queued"] > 30
        for call in flood:
            call.cancel()
