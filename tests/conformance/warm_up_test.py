"""Warm-up: the requests that a version runs before it is available."""

import re
import shutil

import numpy as np
import pytest
import tensorflow as tf
from calls import MODELS, example, request
from serving import running_node
from tensorflow_serving.apis import prediction_log_pb2

HALF, EXAMPLES = "half_plus_two_tf1", "examples_tf1"
REGRESS = "tensorflow/serving/regress"


def predict_log(x, signature: str = "") -> prediction_log_pb2.PredictionLog:
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.CopyFrom(request("m", signature, x=np.array(x, np.float32)))
    return log


def regress_log(signature: str = "regress_x") -> prediction_log_pb2.PredictionLog:
    log = prediction_log_pb2.PredictionLog()
    log.regress_log.request.model_spec.signature_name = signature
    log.regress_log.request.input.example_list.examples.append(example(x=2))
    return log


def classify_log(signature: str = "classify_x") -> prediction_log_pb2.PredictionLog:
    log = prediction_log_pb2.PredictionLog()
    log.classify_log.request.model_spec.signature_name = signature
    log.classify_log.request.input.example_list.examples.append(example(x=2))
    return log


def multi_log(*signatures: str) -> prediction_log_pb2.PredictionLog:
    log = prediction_log_pb2.PredictionLog()
    for signature in signatures:
        task = log.multi_inference_log.request.tasks.add(method_name=REGRESS)
        task.model_spec.name = "m"
        task.model_spec.signature_name = signature
    log.multi_inference_log.request.input.example_list.examples.append(example(x=2))
    return log


def session_run_log() -> prediction_log_pb2.PredictionLog:
    log = prediction_log_pb2.PredictionLog()
    log.session_run_log.request.SetInParent()
    return log


def predict_streamed_log() -> prediction_log_pb2.PredictionLog:
    log = prediction_log_pb2.PredictionLog()
    log.predict_streamed_log.SetInParent()
    return log


@pytest.fixture
def node(tmp_path):
    """A function that starts a node with a single version, which has these warm-up records."""
    def start(model: str, records: list[bytes] | None, *flags: str):
        base = tmp_path / "models" / model
        shutil.copytree(MODELS / model / "1", base / "1")
        shutil.rmtree(base / "1" / "assets.extra", ignore_errors=True)
        if records is not None:
            (base / "1" / "assets.extra").mkdir()
            with tf.io.TFRecordWriter(str(base / "1" / "assets.extra" / "tf_serving_warmup_requests")) as file:
                for record in records:
                    file.write(record)
        return running_node(tmp_path, model, base, "--max_num_load_retries=0", *flags)
    return start


def warm_up_runs(node) -> int:
    """The number of warm-up runs in the node's log."""
    return int(re.search(r": (\d+) warm-up runs in ", node.serving().log.read_text())[1])


@pytest.mark.contract("W1")
@pytest.mark.parametrize("flags, times", [((), 1), (("--num_request_iterations_for_warmup=3",), 3)])
def test_every_record_runs_before_the_version_is_available(node, flags, times):
    with node(HALF, [predict_log([1]).SerializeToString()] * 2, *flags) as running:
        assert warm_up_runs(running) == 2 * times


@pytest.mark.contract("W1")
@pytest.mark.parametrize("log, count", [
    (predict_log([[1.0]]), 1), (regress_log(), 1), (classify_log(), 1), (multi_log("regress_x", "regress_x2"), 1)])
def test_records_of_every_call_are_replayed(node, log, count):
    with node(EXAMPLES, [log.SerializeToString()]) as running:
        assert warm_up_runs(running) == count


@pytest.mark.contract("W1")
def test_with_warm_up_disabled_nothing_runs(node):
    with node(HALF, [predict_log([1]).SerializeToString()], "--enable_model_warmup=false") as running:
        assert "warm-up runs" not in running.serving().log.read_text()


@pytest.mark.contract("W2")
@pytest.mark.parametrize("log", [session_run_log(), predict_streamed_log()], ids=["session_run", "predict_streamed"])
def test_records_of_other_calls_fail_the_load(node, log):
    with node(HALF, [log.SerializeToString()]) as running:
        status = running.settled().status
        assert (status.error_code, "Unsupported log_type for warmup: " in status.error_message) == (12, True)


@pytest.mark.contract("W3")
@pytest.mark.parametrize("records, code, message", [
    ([b"\xff\xff"], 3, "Please verify your warmup data is in TFRecord format."),
    ([predict_log([1]).SerializeToString()] * 1001, 3, "Number of warmup records exceeds the maximum (1000)"),
    ([predict_log([1]).SerializeToString(), predict_log([1], "other").SerializeToString()], 9, "warm-up record 1 of"),
    ([regress_log("other").SerializeToString()], 3, "No signature was found with the name: other")])
def test_an_invalid_or_failing_record_fails_the_load(node, records, code, message):
    with node(HALF, records) as running:
        status = running.settled().status
        assert (status.error_code, message in status.error_message) == (code, True), status.error_message


@pytest.mark.contract("W3")
def test_a_file_that_is_not_a_tfrecord_file_fails_the_load(node, tmp_path):
    with node(HALF, []) as running:
        assert warm_up_runs(running) == 0
    file = tmp_path / "models" / HALF / "1" / "assets.extra" / "tf_serving_warmup_requests"
    file.write_bytes(b"this file is not a TFRecord file, as its first bytes show")
    with running_node(tmp_path, HALF, tmp_path / "models" / HALF, "--max_num_load_retries=0") as running:
        status = running.settled().status
        assert status.error_code == 15
        assert status.error_message.endswith("Please verify your warmup data is in TFRecord format.")


@pytest.mark.contract("W4")
def test_without_records_every_signature_runs_once_with_generated_inputs(node):
    with node(HALF, None) as running:
        assert warm_up_runs(running) >= 1
        assert "is not warmed up" not in running.log.read_text()


@pytest.mark.contract("W4")
def test_a_failed_run_with_generated_inputs_does_not_fail_the_load(node):
    # An empty string is an Example without the feature that the signature needs.
    with node(EXAMPLES, None) as running:
        running.serving()
        running.logs("is not warmed up with 1 rows")


@pytest.mark.contract("W4")
def test_every_allowed_batch_size_runs_before_the_version_is_available(node, tmp_path):
    (tmp_path / "batching.txt").write_text(
        "max_batch_size { value: 8 } allowed_batch_sizes: 2 allowed_batch_sizes: 4 allowed_batch_sizes: 8")
    batched = ("--enable_batching", f"--batching_parameters_file={tmp_path}/batching.txt")
    with node(HALF, [predict_log([1]).SerializeToString()], *batched) as running:
        recorded = warm_up_runs(running)
    shutil.rmtree(tmp_path / "models")
    with node(HALF, None) as running:
        signatures = warm_up_runs(running)
    assert recorded == 1 + 3 * signatures
