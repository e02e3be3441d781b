"""Sampled request logs: their contents, their use as warm-up, and that they never disturb serving."""

import shutil

import grpc
import numpy as np
import pytest
import tensorflow as tf
from calls import MODELS, SECONDS, call_error, example, predict, request
from metrics_test import Metrics, example_request
from serving import running_node
from tensorflow_serving.apis import model_management_pb2, prediction_log_pb2, regression_pb2

WARM_UP = "assets.extra/tf_serving_warmup_requests"


def records(path) -> list[prediction_log_pb2.PredictionLog]:
    return [prediction_log_pb2.PredictionLog.FromString(each.numpy()) for each in tf.data.TFRecordDataset(str(path))]


@pytest.fixture
def node_of(tmp_path):
    (tmp_path / "monitoring.txt").write_text("prometheus_config { enable: true }")
    return lambda model, base, *flags, name="n1": running_node(
        tmp_path, model, base, f"--node={name}", f"--monitoring_config_file={tmp_path}/monitoring.txt", *flags)


def config_of(tmp_path, model: str, rate: float, prefix: str, kind: str = "file") -> str:
    path = tmp_path / "models.txt"
    path.write_text(f'''model_config_list {{ config {{
        name: "{model}" base_path: "{MODELS / model}" model_platform: "tensorflow"
        logging_config {{ log_collector_config {{ type: "{kind}" filename_prefix: "{prefix}" }}
                          sampling_config {{ sampling_rate: {rate} }} }} }} }}''')
    return f"--model_config_file={path}"


def log_half(node_of, log, count: int, *flags: str, name: str = "n1") -> None:
    """Runs a node that logs every request, and sends it predictions with the inputs 1, 2, ..., `count`."""
    with node_of("half_plus_two_tf1", MODELS / "half_plus_two_tf1", f"--request_log={log}", *flags, name=name) as node:
        node.serving()
        for x in range(1, count + 1):
            predict(node, request(node.model, x=np.array([x], np.float32)))
        call_error(node.predictions.Predict, request(node.model, y=np.array([1], np.float32)))


@pytest.mark.contract("Q1", "Q5")
def test_requests_and_answers_are_logged(tmp_path, node_of):
    with node_of("half_plus_two_tf1", None, config_of(tmp_path, "half_plus_two_tf1", 1.0, tmp_path / "log" / "half")) as node:
        node.serving()
        predict(node, request(node.model, x=np.array([1], np.float32)))
        assert node.rest_predict({"instances": [2.0]})[0] == 200
        call_error(node.predictions.Predict, request(node.model, y=np.array([1], np.float32)))
        node.until(lambda: Metrics(node).value(":tensorflow:serving:request_log_count", model_name=node.model,
                                               status_code="OK") == 2 or None)
    written = records(tmp_path / "log" / "half-n1-000001.tfrecord")
    assert [tf.make_ndarray(each.predict_log.request.inputs["x"]).tolist() for each in written] == [[1.0], [2.0]]
    assert [tf.make_ndarray(each.predict_log.response.outputs["y"]).tolist() for each in written] == [[2.5], [3.0]]
    for each in written:
        assert each.log_metadata.model_spec.name == "half_plus_two_tf1"
        assert each.log_metadata.model_spec.version.value == 1
        assert each.log_metadata.sampling_config.sampling_rate == 1.0


@pytest.mark.contract("Q1")
def test_a_sample_of_the_requests_is_logged(tmp_path, node_of):
    log_half(node_of, tmp_path / "half", 200, "--request_log_sampling_rate=0.2")
    assert 15 <= len(records(tmp_path / "half-n1-000001.tfrecord")) <= 70


@pytest.mark.contract("Q1")
def test_nodes_may_share_a_prefix_and_a_restarted_node_continues_its_files(tmp_path, node_of):
    limits = "--request_log_file_records_max=2", "--request_log_files_max=1"
    log_half(node_of, tmp_path / "half", 1, *limits, name="n2")
    for _ in range(3):
        log_half(node_of, tmp_path / "half", 1, *limits)
    assert sorted(each.name for each in tmp_path.glob("half-*.tfrecord")) == ["half-n1-000002.tfrecord", "half-n2-000001.tfrecord"]
    assert len(records(tmp_path / "half-n1-000002.tfrecord")) == 1


@pytest.mark.contract("Q2")
def test_a_log_can_be_the_warm_up_of_a_version(tmp_path, node_of):
    log_half(node_of, tmp_path / "half", 5)
    base = tmp_path / "half_plus_two_tf1"
    shutil.copytree(MODELS / "half_plus_two_tf1" / "1", base / "1")
    (base / "1" / "assets.extra").mkdir()
    shutil.copy(tmp_path / "half-n1-000001.tfrecord", base / "1" / WARM_UP)
    with node_of("half_plus_two_tf1", base) as node:
        node.serving()
        assert Metrics(node).value(":tensorflow:serving:model_warmup_records_read", model_path=str(base / "1"), status="OK") == 5


@pytest.mark.contract("Q2")
def test_the_records_per_file_and_the_number_of_files_are_limited(tmp_path, node_of):
    log_half(node_of, tmp_path / "half", 7, "--request_log_file_records_max=3", "--request_log_files_max=2")
    assert sorted(each.name for each in tmp_path.glob("half-*.tfrecord")) == ["half-n1-000002.tfrecord", "half-n1-000003.tfrecord"]
    assert [len(records(each)) for each in sorted(tmp_path.glob("half-*.tfrecord"))] == [3, 1]


@pytest.mark.contract("Q3")
def test_regressions_are_logged_as_predictions(tmp_path, node_of):
    with node_of("examples_tf1", MODELS / "examples_tf1", f"--request_log={tmp_path}/examples") as node:
        node.serving()
        node.predictions.Regress(
            example_request(regression_pb2.RegressionRequest(), node.model, "regress_x", 2), timeout=SECONDS)
    (written,) = records(tmp_path / "examples-n1-000001.tfrecord")
    (values,) = written.predict_log.request.inputs.values()
    assert [tf.train.Example.FromString(each) for each in values.string_val] == [example(x=1.0)] * 2
    assert written.predict_log.request.model_spec.signature_name == "regress_x"
    assert len(written.predict_log.response.outputs) == 1


@pytest.mark.contract("Q4")
@pytest.mark.parametrize("rate, prefix, kind, message", [
    (1.5, "/tmp/x", "file", "the sampling rate 1.5 is not between 0 and 1"),
    (0.5, "x", "file", 'the prefix "x" is not an absolute path such as /folder/name'),
    (0.5, "/tmp/x", "kafka", 'the log collector "kafka" is not supported')])
def test_an_invalid_log_configuration_is_rejected_and_changes_nothing(tmp_path, node_of, rate, prefix, kind, message):
    good = config_of(tmp_path, "half_plus_two_tf1", 0.0, tmp_path / "half")
    with node_of("half_plus_two_tf1", None, good) as node:
        node.serving()
        wanted = model_management_pb2.ReloadConfigRequest()
        config = wanted.config.model_config_list.config.add(
            name=node.model, base_path=str(MODELS / "half_plus_three_tf2"), model_platform="tensorflow")
        config.logging_config.log_collector_config.type = kind
        config.logging_config.log_collector_config.filename_prefix = prefix
        config.logging_config.sampling_config.sampling_rate = rate
        code, text = call_error(node.models.HandleReloadConfigRequest, wanted)
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        assert f'model "{node.model}": logging_config' in text and message in text
        answer = predict(node, request(node.model, x=np.array([2], np.float32)))
        assert tf.make_ndarray(answer.outputs["y"]).tolist() == [3.0]


@pytest.mark.contract("Q5", "Q6")
def test_a_failing_disk_stops_the_log_but_not_serving(tmp_path, node_of):
    (tmp_path / "file").write_text("a file where a folder is needed")
    with node_of("half_plus_two_tf1", MODELS / "half_plus_two_tf1", f"--request_log={tmp_path}/file/half") as node:
        node.serving()
        for x in range(50):
            predict(node, request(node.model, x=np.array([x], np.float32)))
        node.until(lambda: Metrics(node).value(":tensorflow:serving:request_log_count", model_name=node.model,
                                               status_code="UNAVAILABLE") == 50 or None)
        assert node.log.read_text().count("request_log: cannot be written at the moment: ") == 1
