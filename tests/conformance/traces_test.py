"""The traces of requests, as a collector with OpenTelemetry's own messages receives them."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import secrets
import urllib.error
import urllib.request

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, example, request, run_node
from metrics_test import parse
from oip import call, infer_request, stream
from opentelemetry.proto.trace.v1 import trace_pb2
from otlp_sink import QUICK, attributes, running_sink
from serving import running_node
from tensorflow_serving.apis import classification_pb2

X = np.array([1, 2, 5], np.float32)
HALF = "half_plus_two_tf1"
PREDICT = "tensorflow.serving.PredictionService/Predict"
Kind = trace_pb2.Span.SpanKind


@pytest.fixture(scope="module")
def sink():
    with running_sink() as started:
        yield started


@pytest.fixture(scope="module")
def node(tmp_path_factory, sink):
    with running_node(tmp_path_factory.mktemp("traced"), HALF, MODELS / HALF, f"--otel_exporter_otlp_endpoint={sink.url}", QUICK,
                      "--node=n1") as started:
        yield started.serving()


class Caller:
    """A new span of a client that calls the node."""

    def __init__(self, sampled: bool = True, state: str = ""):
        self.trace_id, self.span_id = secrets.token_hex(16), secrets.token_hex(8)
        self.headers = [("traceparent", f"00-{self.trace_id}-{self.span_id}-{int(sampled):02x}")]
        if state:
            self.headers.append(("tracestate", state))


def rest(node, path: str, body: dict, headers) -> int:
    sent = urllib.request.Request(node.rest_url + path, json.dumps(body).encode(), dict(headers))
    try:
        with urllib.request.urlopen(sent, timeout=SECONDS) as answer:
            assert not [name for name in answer.headers if name.lower().startswith("trace")]
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def rest_with(node, headers) -> int:
    """Sends a request with these headers, which may be repeated."""
    connection = http.client.HTTPConnection(node.rest_url.removeprefix("http://"), timeout=SECONDS)
    connection.putrequest("POST", f"/v1/models/{HALF}:predict")
    body = b'{"instances": [1.0]}'
    for name, value in (*headers, ("Content-Length", str(len(body)))):
        connection.putheader(name, value)
    connection.endheaders(body)
    with contextlib.closing(connection):
        return connection.getresponse().status


def predict(node, headers=(), **inputs):
    return node.predictions.Predict(request(node.model, **(inputs or {"x": X})), timeout=SECONDS, metadata=headers)


def by_name(spans) -> dict[str, trace_pb2.Span]:
    return {span.name: span for span in spans}


def dropped(node) -> dict[str, float]:
    with urllib.request.urlopen(node.admin_url + "/metrics", timeout=SECONDS) as answer:
        samples = parse(answer.read().decode())
    return {dict(labels)["reason"]: value for labels, value in samples["longshore_spans_dropped_total"].items()}


@pytest.mark.contract("T1", "T2", "T4")
def test_a_call_by_grpc_continues_the_trace_of_its_caller(node, sink):
    caller = Caller(state="rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")
    _, made = node.predictions.Predict.with_call(request(node.model, x=X), timeout=SECONDS, metadata=caller.headers)
    assert not [name for name, _ in (*made.initial_metadata(), *made.trailing_metadata()) if name.startswith("trace")]
    server, queue, run = sink.trace(caller.trace_id, 3)
    assert [server.name, queue.name, run.name] == [PREDICT, "queue", "run"]
    assert (server.kind, queue.kind, run.kind) == (Kind.SPAN_KIND_SERVER, Kind.SPAN_KIND_INTERNAL, Kind.SPAN_KIND_INTERNAL)
    assert server.parent_span_id.hex() == caller.span_id
    assert {queue.parent_span_id, run.parent_span_id} == {server.span_id}
    assert {span.trace_state for span in (server, queue, run)} == {"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"}
    assert server.start_time_unix_nano <= queue.start_time_unix_nano <= queue.end_time_unix_nano == run.start_time_unix_nano
    assert run.end_time_unix_nano <= server.end_time_unix_nano
    assert server.status.code == 0
    assert attributes(server) == {
        "rpc.system": "grpc", "rpc.service": "tensorflow.serving.PredictionService", "rpc.method": "Predict",
        "rpc.grpc.status_code": 0, "longshore.model.name": HALF, "longshore.model.version": 1,
        "longshore.model.signature": "serving_default"}
    assert sink.heads[-1]["path"] == "/v1/traces"
    assert sink.heads[-1]["content-type"] == "application/x-protobuf"


@pytest.mark.contract("T2", "T4")
@pytest.mark.parametrize(("path", "body", "route"), [
    (f"/v1/models/{HALF}:predict", {"instances": [1.0]}, "/v1/models/{model}:predict"),
    (f"/v1/models/{HALF}/versions/1:predict", {"inputs": [1.0]}, "/v1/models/{model}:predict"),
    (f"/v1/models/{HALF}:regress", {"signature_name": "regress_x_to_y", "examples": [{"x": 1.0}]}, "/v1/models/{model}:regress"),
    (f"/v2/models/{HALF}/infer", {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]},
     "/v2/models/{model}/infer")])
def test_a_call_by_rest_continues_the_trace_of_its_caller(node, sink, path, body, route):
    caller = Caller()
    status = rest(node, path, body, caller.headers)
    server = by_name(sink.trace(caller.trace_id, 3 if status == 200 else 1))[f"POST {route}"]
    assert server.parent_span_id.hex() == caller.span_id
    assert attributes(server).items() >= {"http.request.method": "POST", "http.route": route, "http.response.status_code": status,
                                          "longshore.model.name": HALF}.items()


@pytest.mark.contract("T4")
def test_every_method_of_both_protocols_has_a_span(node, sink):
    callers = [Caller() for _ in range(3)]
    call(node, "ModelInfer", infer_request(HALF, "FP32", X), metadata=callers[0].headers)
    assert "inference.GRPCInferenceService/ModelInfer" in by_name(sink.trace(callers[0].trace_id, 3))
    stream(node, [infer_request(HALF, "FP32", X)] * 2, metadata=callers[1].headers)
    spans = sink.trace(callers[1].trace_id, 6)
    servers = [span for span in spans if span.name == "inference.GRPCInferenceService/ModelStreamInfer"]
    assert [span.parent_span_id.hex() for span in servers] == [callers[1].span_id] * 2
    wrong = classification_pb2.ClassificationRequest()
    wrong.model_spec.name = HALF
    wrong.input.example_list.examples.append(example(x=1.0))
    with pytest.raises(grpc.RpcError):
        node.predictions.Classify(wrong, timeout=SECONDS, metadata=callers[2].headers)
    assert "tensorflow.serving.PredictionService/Classify" in by_name(sink.trace(callers[2].trace_id, 1))


@pytest.mark.contract("T2", "T3")
def test_a_caller_without_a_valid_context_begins_no_recorded_trace(tmp_path):
    parent = Caller().headers[0][1]
    with running_sink() as sink:
        with running_node(tmp_path, HALF, MODELS / HALF, f"--otel_exporter_otlp_endpoint={sink.url}", QUICK) as node:
            node.serving()
            for headers in ([], [("traceparent", "x")], [("traceparent", parent.upper())], [("traceparent", parent + "-00")],
                            Caller(sampled=False).headers):
                predict(node, headers)
                assert rest(node, f"/v1/models/{HALF}:predict", {"instances": [1.0]}, headers) == 200
            assert rest_with(node, [("traceparent", parent)] * 2) == 200
        assert sink.spans() == []


@pytest.mark.contract("T2")
@pytest.mark.parametrize("state", ["x", "a=1,b", "=1", "A=1", "a=" + "v" * 300, ",".join(f"k{i}=1" for i in range(33)),
                                   ",".join(f"k{i}=" + "v" * 250 for i in range(20))])
def test_a_state_that_is_not_valid_is_left_out(node, sink, state):
    caller = Caller(state=state)
    predict(node, caller.headers)
    assert {span.trace_state for span in sink.trace(caller.trace_id, 3)} == {""}


@pytest.mark.contract("T4")
def test_errors_have_a_status_without_the_text_of_the_error(node, sink):
    client, by_http = Caller(), Caller()
    with pytest.raises(grpc.RpcError):
        predict(node, client.headers, secret=X)
    span, = sink.trace(client.trace_id, 1)
    assert (span.status.code, attributes(span)["rpc.grpc.status_code"], attributes(span)["error.type"]) == (0, 3, "INVALID_ARGUMENT")
    assert "secret" not in str(span)
    assert rest(node, f"/v1/models/{HALF}:predict", {"instances": ["a"]}, by_http.headers) == 400
    span, = sink.trace(by_http.trace_id, 1)
    assert (span.status.code, attributes(span)["http.response.status_code"]) == (0, 400)


@pytest.mark.contract("T4")
def test_a_fault_of_the_server_is_an_error(tmp_path, sink):
    caller = Caller()
    with running_node(tmp_path, HALF, MODELS / HALF, f"--otel_exporter_otlp_endpoint={sink.url}", QUICK,
                      "--simulated_run_ms=500") as node:
        node.serving()
        with pytest.raises(grpc.RpcError):
            node.predictions.Predict(request(HALF, x=X), timeout=0.1, metadata=caller.headers)
        server = by_name(sink.trace(caller.trace_id, 1))[PREDICT]
    assert (server.status.code, server.status.message) == (trace_pb2.Status.STATUS_CODE_ERROR, "DEADLINE_EXCEEDED")


@pytest.mark.contract("T4")
def test_requests_of_a_batch_have_links_to_each_other(tmp_path, sink):
    (tmp_path / "batching.txt").write_text("max_batch_size { value: 2 } batch_timeout_micros { value: 20000000 }")
    with running_node(tmp_path, HALF, MODELS / HALF, f"--otel_exporter_otlp_endpoint={sink.url}", QUICK, "--enable_batching",
                      f"--batching_parameters_file={tmp_path}/batching.txt") as node:
        node.serving()
        callers = [Caller(), Caller()]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda caller: predict(node, caller.headers, x=X[:1]), callers))
        traces = [sink.trace(caller.trace_id, 4) for caller in callers]
    for ours, others in (traces, traces[::-1]):
        spans = by_name(ours)
        assert list(spans) == [PREDICT, "queue", "batch", "run"]
        assert attributes(spans["batch"]) == {"longshore.batch.rows": 2, "longshore.batch.padded_rows": 2}
        assert spans["run"].parent_span_id == spans["batch"].span_id
        assert [(link.trace_id, link.span_id) for link in spans["batch"].links] == [(others[0].trace_id, others[0].span_id)]


@pytest.mark.contract("T3", "T7", "T8")
def test_a_share_of_new_traces_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "digits-eu")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=vision,host.name=h%201")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20secret")
    monkeypatch.setenv("POD_NAME", "cpu-0")
    with running_sink() as sink:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
        with running_node(tmp_path, HALF, MODELS / HALF, QUICK, "--node=n1") as node:
            node.serving()
            for _ in range(400):
                predict(node)
            log = node.log
        servers = [span for span in sink.spans() if span.name == PREDICT]
        assert 50 < len(servers) < 160
        assert all(int.from_bytes(span.trace_id[8:]) >> 1 < 0.25 * 2**63 for span in servers)
        assert {span.parent_span_id for span in servers} == {b""}
        assert sink.heads[0]["api-key"] == "a secret"
        assert "secret" not in log.read_text()
        assert sink.resource() == {
            "service.name": "digits-eu", "service.instance.id": "n1", "host.name": "h 1", "team": "vision", "k8s.pod.name": "cpu-0",
            "process.pid": sink.resource()["process.pid"], "service.version": sink.resource()["service.version"]}


@pytest.mark.contract("T5")
def test_a_batch_is_sent_again_after_a_temporary_error(node, sink):
    caller = Caller()
    with sink.changed:
        sink.answers = [(503, {"Retry-After": "1"}), (429, {})]
    predict(node, caller.headers)
    assert len(sink.trace(caller.trace_id, 3)) == 3
    assert dropped(node) == {"queue_full": 0, "unreachable": 0, "rejected": 0, "shutdown": 0}


@pytest.mark.contract("T5")
def test_spans_are_counted_that_the_collector_refuses(tmp_path):
    with running_sink() as sink, running_node(tmp_path, HALF, MODELS / HALF, f"--otel_exporter_otlp_traces_endpoint={sink.url}/x",
                                              QUICK) as node:
        node.serving()
        sink.answers = [(400, {})] * 3
        predict(node, Caller().headers)
        node.until(lambda: dropped(node)["rejected"] == 3 or None)
        assert sink.heads[0]["path"] == "/x"


def resident_bytes(node) -> int:
    status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


@pytest.mark.contract("T5", "T6")
def test_a_collector_that_is_down_costs_neither_answers_nor_memory(tmp_path):
    with running_node(tmp_path, HALF, MODELS / HALF, "--otel_exporter_otlp_endpoint=http://127.0.0.1:1", QUICK,
                      "--otel_bsp_max_queue_size=100") as node:
        node.serving()
        headers = [*Caller(state="k=" + "v" * 250).headers]
        for _ in range(300):
            predict(node, headers)
        before = resident_bytes(node)
        for _ in range(3000):
            predict(node, headers)
        assert resident_bytes(node) - before < 16 << 20
        lost = dropped(node)
        # The spans of a batch that is being sent, and those in the queue, are not lost yet.
        assert 9900 - 512 - 100 <= lost["queue_full"] + lost["unreachable"] <= 9900
        node.logs("spans cannot be exported: http://127.0.0.1:1/v1/traces: ")


@pytest.mark.contract("T6")
def test_the_spans_that_wait_are_sent_at_the_end(tmp_path):
    with running_sink() as sink:
        with running_node(tmp_path, HALF, MODELS / HALF, f"--otel_exporter_otlp_endpoint={sink.url}",
                          "--otel_bsp_schedule_delay=60000") as node:
            node.serving()
            for _ in range(5):
                predict(node, Caller().headers)
            assert sink.spans() == []
        assert len(sink.spans()) == 15


@pytest.mark.contract("T8")
@pytest.mark.parametrize(("flag", "text"), [
    ("--otel_exporter_otlp_endpoint=ftp://c", "the URL is not http:// or https://"),
    ("--otel_traces_sampler=always_on", "--otel_traces_sampler=always_on is not"),
    ("--otel_bsp_schedule_delay=x", "--otel_bsp_schedule_delay=x is not a whole number from 1 to 60000"),
    ("--otel_resource_attributes=a", "--otel_resource_attributes: entry 1 of the list is not NAME=VALUE")])
def test_a_value_that_is_not_valid_ends_the_program(flag, text, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    ended = run_node(f"--model_base_path={MODELS / HALF}", "--port=0", "--rest_api_port=0", f"--port_file={os.devnull}", flag)
    assert ended.returncode != 0
    assert text in ended.stderr


@pytest.mark.contract("T8")
def test_secret_headers_appear_in_no_message(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    for headers in ("secret", "k=secret%0d%0ax: y"):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", headers)
        ended = run_node(f"--model_base_path={MODELS / HALF}", "--port=0", "--rest_api_port=0", f"--port_file={os.devnull}")
        assert ended.returncode != 0
        assert "secret" not in ended.stderr + ended.stdout
