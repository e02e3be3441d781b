"""Warm-up: what a version runs before it is available."""

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
    """Makes a node whose one version has these warm-up records."""
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


def runs(node) -> int:
    """Of the warm-up, as the node says."""
    return int(re.search(r": (\d+) warm-up runs in ", node.serving().log.read_text())[1])


@pytest.mark.contract("W1")
@pytest.mark.parametrize("flags, times", [((), 1), (("--num_request_iterations_for_warmup=3",), 3)])
def test_every_record_runs_before_the_version_is_available(node, flags, times):
    with node(HALF, [predict_log([1]).SerializeToString()] * 2, *flags) as one:
        assert runs(one) == 2 * times


@pytest.mark.contract("W1")
@pytest.mark.parametrize("log, count", [
    (predict_log([[1.0]]), 1), (regress_log(), 1), (classify_log(), 1), (multi_log("regress_x", "regress_x2"), 2)])
def test_records_of_every_call_are_replayed(node, log, count):
    with node(EXAMPLES, [log.SerializeToString()]) as one:
        assert runs(one) == count


@pytest.mark.contract("W1")
def test_without_warm_up_nothing_runs(node):
    with node(HALF, [predict_log([1]).SerializeToString()], "--enable_model_warmup=false") as one:
        assert "warm-up runs" not in one.serving().log.read_text()


@pytest.mark.contract("W2")
@pytest.mark.parametrize("log", [session_run_log(), predict_streamed_log()], ids=["session_run", "predict_streamed"])
def test_records_of_other_calls_fail_the_load(node, log):
    with node(HALF, [log.SerializeToString()]) as one:
        status = one.settled().status
        assert (status.error_code, "Unsupported log_type for warmup: " in status.error_message) == (12, True)


@pytest.mark.contract("W3")
@pytest.mark.parametrize("records, code, said", [
    ([b"\xff\xff"], 3, "Please verify your warmup data is in TFRecord format."),
    ([predict_log([1]).SerializeToString()] * 1001, 3, "Number of warmup records exceeds the maximum (1000)"),
    ([predict_log([1]).SerializeToString(), predict_log([1], "other").SerializeToString()], 9, "warm-up record 1 of"),
    ([regress_log("other").SerializeToString()], 3, "No signature was found with the name: other")])
def test_a_record_that_is_wrong_or_fails_fails_the_load(node, records, code, said):
    with node(HALF, records) as one:
        status = one.settled().status
        assert (status.error_code, said in status.error_message) == (code, True), status.error_message


@pytest.mark.contract("W3")
def test_a_file_that_is_no_tfrecord_fails_the_load(node, tmp_path):
    with node(HALF, []) as one:
        assert runs(one) == 0
    file = tmp_path / "models" / HALF / "1" / "assets.extra" / "tf_serving_warmup_requests"
    file.write_bytes(b"this is no TFRecord file, however long one looks at it")
    with running_node(tmp_path, HALF, tmp_path / "models" / HALF, "--max_num_load_retries=0") as one:
        status = one.settled().status
        assert status.error_code == 15
        assert status.error_message.endswith("Please verify your warmup data is in TFRecord format.")


@pytest.mark.contract("W4")
def test_without_records_every_signature_runs_once_with_what_can_be_made_up(node):
    with node(HALF, None) as one:
        assert runs(one) >= 1
        assert "is not warmed up" not in one.log.read_text()


@pytest.mark.contract("W4")
def test_what_fails_of_that_fails_no_load(node):
    # An empty string is an Example without the feature that the signature needs.
    with node(EXAMPLES, None) as one:
        one.serving()
        one.logs("is not warmed up with 1 rows")


@pytest.mark.contract("W4")
def test_every_allowed_batch_size_runs_before_the_version_is_available(node, tmp_path):
    (tmp_path / "batching.txt").write_text(
        "max_batch_size { value: 8 } allowed_batch_sizes: 2 allowed_batch_sizes: 4 allowed_batch_sizes: 8")
    batched = ("--enable_batching", f"--batching_parameters_file={tmp_path}/batching.txt")
    with node(HALF, [predict_log([1]).SerializeToString()], *batched) as one:
        recorded = runs(one)
    shutil.rmtree(tmp_path / "models")
    with node(HALF, None) as one:
        signatures = runs(one)
    assert recorded == 1 + 3 * signatures
