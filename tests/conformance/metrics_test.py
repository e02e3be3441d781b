"""The metrics: TensorFlow Serving's names and values, and the table of all metrics in docs/metrics.md."""

import json
import pathlib
import re
import shutil
import urllib.request

import grpc
import numpy as np
import pytest
import tensorflow as tf
from calls import MODELS, SECONDS, call_error, example, predict, request
from serving import running_node
from tensorflow_serving.apis import classification_pb2, inference_pb2, predict_pb2, prediction_log_pb2, regression_pb2

PATH = "/monitoring/prometheus/metrics"
SERVING = ":tensorflow:serving:"
SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def parse(text: str) -> dict[str, dict[tuple, float]]:
    """Parses the text format: name -> sorted labels -> value."""
    samples: dict[str, dict[tuple, float]] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        samples.setdefault(name, {})[tuple(sorted(LABEL.findall(labels or "")))] = float(value)
    return samples


class Metrics:
    """The current metrics of a node."""

    def __init__(self, node):
        status, self.text = node.rest(PATH)
        assert status == 200
        self.samples = parse(self.text)

    def value(self, name: str, **labels: str) -> float:
        return self.samples.get(name, {}).get(tuple(sorted(labels.items())), 0)

    def bounds(self, name: str, **labels: str) -> list[str]:
        wanted = set(labels.items())
        return [dict(each)["le"] for each in self.samples[name + "_bucket"] if wanted <= set(each)]


@pytest.fixture
def node_of(tmp_path):
    """A function that starts a node with its metrics at the monitoring path."""
    (tmp_path / "monitoring.txt").write_text("prometheus_config { enable: true }")
    return lambda model, *flags: running_node(
        tmp_path, pathlib.Path(model).name, MODELS / model, f"--monitoring_config_file={tmp_path}/monitoring.txt", *flags)


def example_request(message, model: str, signature: str, count: int):
    message.model_spec.name, message.model_spec.signature_name = model, signature
    message.input.example_list.examples.extend([example(x=1.0)] * count)
    return message


@pytest.mark.contract("M1", "M2", "R14")
def test_predictions_are_counted_by_status_and_their_latency_is_measured(node_of):
    with node_of("half_plus_two_tf1") as node:
        node.serving()
        for _ in range(3):
            predict(node, request(node.model, x=np.array([1], np.float32)))
        call_error(node.predictions.Predict, request(node.model, y=np.array([1], np.float32)))
        assert node.rest_predict({"instances": [1.0]})[0] == 200
        assert node.rest(f"/v1/models/{node.model}:predict", "{")[0] == 400
        metrics = Metrics(node)
        count, latency = SERVING + "request_count", SERVING + "request_latency"
        assert metrics.value(count, model_name=node.model, status="OK") == 4
        assert metrics.value(count, model_name=node.model, status="INVALID_ARGUMENT") == 2
        assert metrics.value(latency + "_count", model_name=node.model, API="Predict", entrypoint="GRPC") == 3
        assert metrics.value(latency + "_count", model_name=node.model, API="predict", entrypoint="REST") == 1
        assert metrics.value("longshore_requests_total", model=node.model, version="1", signature="serving_default",
                             protocol="grpc", code="OK") == 3


@pytest.mark.contract("M2", "M3")
def test_latencies_are_in_microseconds_with_the_buckets_of_tensorflow_serving(node_of):
    with node_of("half_plus_two_tf1", "--simulated_run_ms=30") as node:
        node.serving()
        predict(node, request(node.model, x=np.array([1], np.float32)))
        metrics = Metrics(node)
        expected = [f"{10 * 1.8 ** i:.6g}" for i in range(33)]
        for name, labels in ((SERVING + "request_latency", {"API": "Predict", "entrypoint": "GRPC"}),
                             (SERVING + "runtime_latency", {"API": "Predict", "runtime": "TF1"})):
            labels["model_name"] = node.model
            bounds = metrics.bounds(name, **labels)
            assert [f"{float(each):.6g}" for each in bounds] == expected + ["inf"]
            assert 30_000 <= metrics.value(name + "_sum", **labels) < 30_000_000
            slow = [each for each in bounds if float(each) >= 30_000]
            quick = [each for each in bounds if float(each) < 30_000]
            assert metrics.value(name + "_bucket", le=quick[-1], **labels) == 0
            assert metrics.value(name + "_bucket", le=slow[-1], **labels) == 1


@pytest.mark.contract("M1", "M2", "M4", "M7")
def test_classifications_regressions_and_their_examples_are_counted(node_of):
    with node_of("examples_tf1") as node:
        node.serving()
        node.predictions.Classify(
            example_request(classification_pb2.ClassificationRequest(), node.model, "classify_x", 2), timeout=SECONDS)
        node.predictions.Regress(
            example_request(regression_pb2.RegressionRequest(), node.model, "regress_x", 3), timeout=SECONDS)
        body = {"signature_name": "regress_x", "examples": [{"x": 1.0}]}
        assert node.rest(f"/v1/models/{node.model}:regress", json.dumps(body))[0] == 200
        multi = inference_pb2.MultiInferenceRequest()
        for signature, method in (("regress_x", "regress"), ("classify_x", "classify")):
            task = multi.tasks.add(method_name=f"tensorflow/serving/{method}")
            task.model_spec.name, task.model_spec.signature_name = node.model, signature
        multi.input.example_list.examples.append(example(x=1.0))
        node.predictions.MultiInference(multi, timeout=SECONDS)
        empty = example_request(regression_pb2.RegressionRequest(), node.model, "regress_x", 0)
        assert call_error(node.predictions.Regress, empty)[0] == grpc.StatusCode.INVALID_ARGUMENT
        metrics = Metrics(node)
        latency = SERVING + "request_latency_count"
        for api, entrypoint in (("Classify", "GRPC"), ("Regress", "GRPC"), ("regress", "REST"), ("MultiInference", "GRPC")):
            assert metrics.value(latency, model_name=node.model, API=api, entrypoint=entrypoint) == 1
        assert metrics.value(SERVING + "request_count", model_name=node.model, status="OK") == 4
        assert metrics.value(SERVING + "request_count", model_name=node.model, status="INVALID_ARGUMENT") == 1
        assert metrics.value(SERVING + "request_example_count_total", model=node.model) == 2 + 3 + 1 + 1
        assert metrics.value(SERVING + "request_example_counts_count", model=node.model) == 4
        assert metrics.value(SERVING + "request_example_counts_bucket", model=node.model, le="2") == 3


@pytest.mark.contract("M7")
def test_unknown_model_names_create_no_series(node_of):
    with node_of("half_plus_two_tf1") as node:
        node.serving()
        for number in range(20):
            call_error(node.predictions.Predict, request(f"made_up_{number}", x=np.array([1], np.float32)))
            assert node.rest(f"/v1/models/made_up_{number}:predict", "{")[0] in (400, 404)
        call_error(node.predictions.Predict, predict_pb2.PredictRequest())
        metrics = Metrics(node)
        assert "made_up" not in metrics.text
        counted = {labels: value for labels, value in metrics.samples[SERVING + "request_count"].items()}
        assert {dict(labels)["model_name"] for labels in counted} == {""}
        assert sum(counted.values()) == 41
        assert f"# HELP {SERVING}request_count " in metrics.text


@pytest.mark.contract("M6")
def test_loads_and_runs_are_counted(node_of):
    with node_of("half_plus_two_tf1") as node:
        node.serving()
        for _ in range(4):
            predict(node, request(node.model, x=np.array([1], np.float32)))
        metrics = Metrics(node)
        path = str(MODELS / node.model / "1")
        assert metrics.value(":tensorflow:cc:saved_model:load_attempt_count", model_path=path, status="success") == 1
        assert metrics.value(":tensorflow:cc:saved_model:load_latency", model_path=path) > 0
        assert metrics.value(":tensorflow:core:graph_runs") == 4
        assert metrics.value(":tensorflow:core:graph_run_time_usecs") > 0


@pytest.mark.contract("M6")
def test_warm_ups_are_counted(node_of):
    with node_of("digits") as node:
        node.serving()
        metrics = Metrics(node)
        path = str(MODELS / "digits" / "5")
        assert metrics.value(SERVING + "model_warmup_latency_count", model_path=path, status="OK") == 1
        records = metrics.value(SERVING + "model_warmup_records_read", model_path=path, status="OK")
        assert records == sum(1 for _ in tf.data.TFRecordDataset(f"{path}/assets.extra/tf_serving_warmup_requests"))


@pytest.mark.contract("M6")
def test_a_failed_load_is_counted(tmp_path, node_of):
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "1" / "saved_model.pb").write_bytes(b"broken")
    (tmp_path / "monitoring.txt").write_text("prometheus_config { enable: true }")
    with running_node(tmp_path, "broken", tmp_path / "broken", "--max_num_load_retries=0",
                      f"--monitoring_config_file={tmp_path}/monitoring.txt") as node:
        node.refusal()
        metrics = Metrics(node)
        path = str(tmp_path / "broken" / "1")
        assert metrics.value(":tensorflow:cc:saved_model:load_attempt_count", model_path=path, status="fail") == 1


def batching_flags(tmp_path):
    (tmp_path / "batching.txt").write_text(
        "max_batch_size { value: 8 } batch_timeout_micros { value: 1000 } allowed_batch_sizes: [4, 8]")
    return "--enable_batching", f"--batching_parameters_file={tmp_path}/batching.txt"


@pytest.mark.contract("M5")
def test_batches_are_counted(tmp_path, node_of):
    with node_of("half_plus_two_tf1", *batching_flags(tmp_path)) as node:
        node.serving()
        for _ in range(2):
            predict(node, request(node.model, x=np.array([1, 2, 3], np.float32)))
        metrics = Metrics(node)
        session = SERVING + "batching_session:"
        assert metrics.value(session + "wrapped_run_count") == 2
        assert metrics.value(session + "queuing_latency_count", thread_pool_name="batch_threads") == 2
        assert metrics.value(session + "queuing_latency_sum", thread_pool_name="batch_threads") >= 2000
        assert metrics.value(session + "padding_size_sum", execution_batch_size="4") == 2
        assert metrics.value(session + "input_batch_size_sum") == 6
        assert metrics.value(session + "processed_batch_size_sum") == 8
        labels = {"model": node.model, "version": "1", "signature": "serving_default"}
        assert 0.002 <= metrics.value("longshore_batch_fill_seconds_sum", **labels)
        assert metrics.value("longshore_batch_fill_seconds_sum", **labels) <= metrics.value("longshore_queue_seconds_sum", **labels)


def documented_metrics() -> dict[str, tuple[str, frozenset, bool]]:
    """The table in docs/metrics.md: name -> kind, labels, whether only nodes of a fleet have the metric."""
    of_a_node, _, _ = DOCUMENT.read_text().partition("\n## Metrics of the controller\n")
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \|([^|]*)\| ([^|]+) \|$", of_a_node, re.MULTILINE)
    return {name: (kind, frozenset(filter(None, re.split(r",\s*", labels.strip()))), meaning.startswith("in a fleet"))
            for name, kind, labels, meaning in rows}


def exposed_metrics(text: str) -> dict[str, tuple[str, frozenset]]:
    """The metrics in the text format: name -> kind, labels."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE))
    samples = parse(text)
    metrics = {}
    for name, kind in kinds.items():
        labels = next(iter(samples[name + ("_count" if kind == "histogram" else "")]))
        metrics[name] = (kind, frozenset(label for label, _ in labels))
    return metrics


def with_warm_up(model: str, folder: pathlib.Path) -> pathlib.Path:
    """A copy of the model's first version with a warm-up request."""
    base = folder / model
    shutil.copytree(MODELS / model / "1", base / "1")
    (base / "1" / "assets.extra").mkdir()
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.CopyFrom(request(model, x=np.array([[1]], np.float32)))
    with tf.io.TFRecordWriter(str(base / "1" / "assets.extra" / "tf_serving_warmup_requests")) as file:
        file.write(log.SerializeToString())
    return base


def use_all_calls(node) -> None:
    node.serving()
    node.predictions.Regress(example_request(regression_pb2.RegressionRequest(), node.model, "regress_x", 1), timeout=SECONDS)
    predict(node, request(node.model, x=np.array([[1]], np.float32)))


@pytest.mark.contract("M8")
def test_the_document_lists_exactly_the_metrics_of_a_node(tmp_path, node_of):
    model = with_warm_up("examples_tf1", tmp_path)
    with node_of(model, *batching_flags(tmp_path), f"--request_log={tmp_path}/log", f"--capture_dir={tmp_path}",
                 "--otel_exporter_otlp_endpoint=http://127.0.0.1:1") as node:
        use_all_calls(node)
        node.until(lambda: "longshore_request_log_total" in Metrics(node).text or None)
        metrics = exposed_metrics(Metrics(node).text)
        table = documented_metrics()
        assert len(table) > 25
        assert metrics == {name: table.get(name, ("not in docs/metrics.md", frozenset()))[:2] for name in metrics}
        assert {name for name, row in table.items() if not row[2]} - set(metrics) == set()
        with urllib.request.urlopen(node.admin_url + "/metrics", timeout=SECONDS) as response:
            assert exposed_metrics(response.read().decode()) == metrics
