"""The listeners of a node: the unix socket, reflection, HTTP limits, gzipped answers, overload and disconnected clients."""

import concurrent.futures
import contextlib
import gzip
import http.client
import json
import os
import queue
import socket
import stat
import threading
import time

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, predict, request, run_node
from rest_test import HALF, ask
from serving import running_node
from tensorflow_serving.apis import prediction_service_pb2_grpc

MODEL = "half_plus_two_tf1"
REFLECTIONS = [f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo" for version in ("v1", "v1alpha")]


def send_raw(node, sent: bytes) -> bytes:
    """Sends these bytes to the REST port; returns its answer up to the end of the connection."""
    with socket.create_connection(("127.0.0.1", node.rest_port), SECONDS) as connection:
        connection.sendall(sent)
        answer = b""
        while got := connection.recv(65536):
            answer += got
        return answer


# ---------------------------------------------------------------------------------------------------------------- gRPC

@pytest.mark.contract("F15")
def test_the_unix_socket_answers_as_the_port_does(tmp_path):
    path = tmp_path / "s"
    with running_node(tmp_path, MODEL, MODELS / MODEL, f"--grpc_socket_path={path}", "--connection_age_max_ms=300") as node:
        node.serving()
        assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0
        with grpc.insecure_channel(f"unix:{path}") as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            answer = stub.Predict(request(MODEL, x=np.array([2], np.float32)), timeout=SECONDS)
            assert answer.outputs["y"].float_val == [3.0]
        assert predict(node, request(MODEL, x=np.array([2], np.float32))).outputs["y"].float_val == [3.0]


@pytest.mark.contract("F15")
def test_a_node_takes_over_the_unix_socket_of_another_one(tmp_path):
    """As gRPC does for the unix: address that TensorFlow Serving's Server::BuildAndStart adds."""
    path = tmp_path / "s"
    (tmp_path / "second").mkdir()
    with contextlib.ExitStack() as second_ends:
        with running_node(tmp_path, MODEL, MODELS / MODEL, f"--grpc_socket_path={path}") as first:
            first.serving()
            second = second_ends.enter_context(
                running_node(tmp_path / "second", MODEL, MODELS / MODEL, f"--grpc_socket_path={path}"))
            second.serving()
        with grpc.insecure_channel(f"unix:{path}") as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            answer = stub.Predict(request(MODEL, x=np.array([2], np.float32)), timeout=SECONDS)
            assert answer.outputs["y"].float_val == [3.0]


@pytest.mark.contract("F15")
def test_the_unix_socket_may_be_the_only_listener(tmp_path):
    flags = (f"--model_base_path={MODELS / MODEL}", f"--model_name={MODEL}", "--port=0", "--rest_api_port=0")
    refused = run_node(*flags)
    assert refused.returncode != 0 and "leave nothing to serve on" in refused.stdout + refused.stderr
    missing = run_node(*flags, "--admin_port=0", f"--grpc_socket_path={tmp_path}/no/s")
    assert missing.returncode != 0 and "--grpc_socket_path: " in missing.stdout + missing.stderr


@pytest.mark.contract("F15")
@pytest.mark.parametrize("method", REFLECTIONS)
def test_reflection_needs_its_flag(tmp_path, method):
    with running_node(tmp_path, MODEL, MODELS / MODEL) as node:
        with pytest.raises(grpc.RpcError) as caught:
            next(node.serving().channel.stream_stream(method, bytes, bytes)(iter([b""]), timeout=SECONDS))
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def reflection_request(field: int, text: str) -> bytes:
    """A ServerReflectionRequest (https://github.com/grpc/grpc/blob/master/src/proto/grpc/reflection/v1/reflection.proto)."""
    return bytes([field << 3 | 2, len(text)]) + text.encode()


@pytest.mark.contract("F15")
@pytest.mark.parametrize("method", REFLECTIONS)
def test_reflection_describes_the_services_in_one_conversation(tmp_path, method):
    asked = queue.Queue()
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--enable_reflection") as node:
        answers = node.serving().channel.stream_stream(method, bytes, bytes)(iter(asked.get, None), timeout=SECONDS)

        def ask_for(field: int, text: str) -> bytes:
            asked.put(reflection_request(field, text))
            return next(answers)

        services = ask_for(7, "")
        for service in ["tensorflow.serving.PredictionService", "grpc.health.v1.Health", method.split("/")[1]]:
            assert service.encode() in services
        assert b"PredictRequest" in ask_for(4, "tensorflow.serving.PredictionService.Predict")
        assert b"TensorProto" in ask_for(3, "tensorflow/tensor.proto")
        assert b"no.Such" in ask_for(4, "no.Such"), "An unknown name gets an error, and the conversation goes on."
        assert services == ask_for(7, "")
        asked.put(None)
        assert list(answers) == [] and answers.code() == grpc.StatusCode.OK


# ---------------------------------------------------------------------------------------------------------------- HTTP

@pytest.mark.contract("S6")
@pytest.mark.parametrize("sent, status", [
    (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
    (b"GET / HTTP/1.1\nHost: h\n\n", 400),
    (b"GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: h\r\nX : a\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nAuthorization: a\r\n\r\n", 400),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    (b"GET /" + b"x" * 20_000, 414),
    (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
    (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000000\r\n\r\n", 413)])
def test_an_ambiguous_or_too_large_request_is_rejected_and_its_connection_closed(half, sent, status):
    answer = send_raw(half, sent + b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert answer.count(b"HTTP/1.1 ") == 1 and b"Connection: close\r\n" in answer


@pytest.mark.contract("S6")
@pytest.mark.parametrize("how", ["length", "chunks"])
def test_a_flag_limits_the_size_of_a_body(tmp_path, how):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--rest_max_request_bytes=1000") as node:
        node.serving()
        def status(body: bytes) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", node.rest_port, timeout=SECONDS)
            chunked = how == "chunks"
            connection.request("POST", HALF + ":predict", iter([body]) if chunked else body, encode_chunked=chunked,
                               headers={"Transfer-Encoding": "chunked"} if chunked else {})
            return connection.getresponse().status
        body = b'{"instances": [2.0]}'
        assert [status(body.ljust(1000)), status(body.ljust(1001))] == [200, 413]


@pytest.mark.contract("S6")
def test_a_slow_client_is_disconnected_and_others_are_not(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--rest_min_bytes_per_second=1000000") as node:
        node.serving()
        begun = time.monotonic()
        slow = [socket.create_connection(("127.0.0.1", node.rest_port), 2 * SECONDS) for _ in range(3)]
        slow[0].sendall(b"GET / HTTP/1.1\r\nHos")
        slow[1].sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nslow")
        quick = http.client.HTTPConnection("127.0.0.1", node.rest_port, timeout=SECONDS)
        assert ask(node, "GET", HALF, connection=quick).status == 200
        for each in slow[:2]:
            assert each.recv(100) == b""
        assert 9 < time.monotonic() - begun < 20
        assert ask(node, "GET", HALF, connection=quick).status == 200
        for each in slow:
            each.close()


@pytest.mark.contract("S6")
def test_connections_above_the_limit_wait(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--rest_max_connections=2") as node:
        node.serving()
        held = [http.client.HTTPConnection("127.0.0.1", node.rest_port, timeout=SECONDS) for _ in range(2)]
        for each in held:
            assert ask(node, "GET", HALF, connection=each).status == 200
        waiting = []
        thread = threading.Thread(target=lambda: waiting.append(ask(node, "GET", HALF).status))
        thread.start()
        assert ask(node, "GET", HALF, connection=held[0]).status == 200
        assert waiting == []
        held[1].close()
        thread.join()
        assert waiting == [200]
        held[0].close()


# ---------------------------------------------------------------------------------------------------------------- gzip

@pytest.mark.contract("R15")
@pytest.mark.parametrize("count, accept, packed", [
    (5000, "gzip", True), (5000, "br, *", True), (5000, "gzip;q=0", False), (5000, "", False), (2, "gzip", False)])
def test_long_answers_are_gzipped_if_the_client_accepts_gzip(half, count, accept, packed):
    body = {"instances": [float(i) for i in range(count)]}
    answer = ask(half, "POST", HALF + ":predict", body, {"Accept-Encoding": accept})
    assert (answer.headers["Content-Encoding"] == "gzip") == packed
    assert (answer.headers["Vary"] == "Accept-Encoding") == (count == 5000)
    plain = gzip.decompress(answer.bytes) if packed else answer.bytes
    assert json.loads(plain)["predictions"] == [i / 2 + 2 for i in range(count)]


# ------------------------------------------------------------------------------------------------------------ Overload

@pytest.mark.contract("S7")
def test_requests_above_the_limit_in_flight_are_rejected_immediately_until_others_end(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--max_requests_in_flight=2", "--max_concurrent_runs=1",
                      "--simulated_run_ms=1500") as node:
        node.serving()
        proto = request(MODEL, x=np.array([2], np.float32))
        held = [node.predictions.Predict.future(proto, timeout=SECONDS) for _ in range(2)]
        node.until(lambda: node.admin_json("/debug/state")["load"]["queued"] == 1 or None)
        begun = time.monotonic()
        with pytest.raises(grpc.RpcError) as caught:
            node.predictions.Predict(proto, timeout=SECONDS)
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert caught.value.details() == "too many requests are in flight on this node"
        pause = {name: value for name, value in caught.value.trailing_metadata()}["grpc-retry-pushback-ms"]
        assert 500 <= int(pause) <= 1500
        rest = ask(node, "POST", HALF + ":predict", {"instances": [2.0]})
        assert (rest.status, rest.error) == (429, caught.value.details())
        assert rest.headers["Retry-After"] in ("1", "2")
        unread = ask(node, "POST", HALF + ":predict", "not JSON")  # Not parsed, otherwise the status would be 400.
        assert (unread.status, unread.error) == (429, rest.error)
        for method in ("Predict", "Classify", "Regress", "MultiInference"):
            with pytest.raises(grpc.RpcError) as unread:
                node.channel.unary_unary(f"/tensorflow.serving.PredictionService/{method}")(b"\xff", timeout=SECONDS)
            assert (unread.value.code(), unread.value.details()) == (grpc.StatusCode.RESOURCE_EXHAUSTED, rest.error)
            assert "grpc-retry-pushback-ms" in dict(unread.value.trailing_metadata())
        assert time.monotonic() - begun < 1.4  # No rejected request waited for a run.
        assert [each.result().outputs["y"].float_val for each in held] == [[3.0], [3.0]]
        assert predict(node, proto).outputs["y"].float_val == [3.0]


@pytest.mark.contract("S10")
def test_an_answer_above_the_memory_limit_of_all_answers_is_dropped(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--max_held_answer_bytes=1000") as node:
        node.serving()
        with pytest.raises(grpc.RpcError) as caught:
            predict(node, request(MODEL, x=np.zeros(1000, np.float32)))
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
        assert caught.value.details() == "the answers that clients have not read yet exceed 1000 bytes"
        assert "grpc-retry-pushback-ms" in dict(caught.value.trailing_metadata())
        rest = ask(node, "POST", HALF + ":predict", {"instances": [0.0] * 1000})
        assert (rest.status, rest.error) == (503, caught.value.details())
        assert rest.headers["Retry-After"] in ("1", "2")
        assert ask(node, "POST", HALF + ":predict", {"instances": [2.0]}).status == 200


@pytest.mark.contract("S7")
def test_a_permanent_error_has_no_retry_hint(half):
    with pytest.raises(grpc.RpcError) as caught:
        predict(half, request("none", x=np.array([2], np.float32)))
    assert "grpc-retry-pushback-ms" not in dict(caught.value.trailing_metadata())
    assert ask(half, "GET", "/v1/models/none").headers["Retry-After"] is None


@pytest.mark.contract("S5")
def test_administration_answers_while_the_node_is_overloaded(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--max_concurrent_runs=1", "--simulated_run_ms=500") as node:
        node.serving()
        proto = request(MODEL, x=np.array([2], np.float32))
        held = [node.predictions.Predict.future(proto, timeout=SECONDS) for _ in range(200)]
        node.until(lambda: node.admin_json("/debug/state")["load"]["queued"] > 100 or None)
        class Admin:
            rest_url = node.admin_url
        for path in ("/livez", "/readyz", "/metrics"):
            assert ask(Admin, "GET", path).status == 200
        for each in held:
            each.cancel()


@pytest.mark.contract("S10")
def test_the_total_size_of_bodies_is_limited_and_an_answer_frees_its_body(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--rest_max_held_bytes=1000000", "--max_concurrent_runs=1",
                      "--simulated_run_ms=1500") as node:
        node.serving()
        body = b'{"instances": [2.0]}'
        post = lambda size: ask(node, "POST", HALF + ":predict", body.ljust(size))  # noqa: E731
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            held = pool.submit(post, 600_000)
            node.until(lambda: node.admin_json("/debug/state")["load"]["running"] == 1 or None)
            refused = post(600_000)
            assert (refused.status, refused.text) == (503, "the requests under way hold more than 1000000 bytes\n")
            assert refused.headers["Retry-After"] in ("1", "2")
            packed = ask(node, "POST", HALF + ":predict", gzip.compress(body.ljust(600_000)), {"Content-Encoding": "gzip"})
            assert (packed.status, packed.text) == (503, refused.text)
            assert [post(1000).status, held.result().status, post(600_000).status] == [200, 200, 200]


# ------------------------------------------------------------------------------------------------- Disconnected clients

def load(node) -> dict:
    return node.admin_json("/debug/state")["load"]


def send_prediction(node, value: float) -> socket.socket:
    """Sends a prediction without reading its answer."""
    body = json.dumps({"instances": [value]})
    connection = socket.create_connection(("127.0.0.1", node.rest_port), SECONDS)
    connection.sendall(f"POST {HALF}:predict HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    return connection


def read_all(connection: socket.socket) -> bytes:
    answer = b""
    while got := connection.recv(65536):
        answer += got
    return answer


@pytest.mark.contract("B13", "S9")
def test_the_request_of_a_disconnected_client_is_not_run_and_that_of_a_half_closed_client_is_answered(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--max_concurrent_runs=1", "--simulated_run_ms=1500") as node:
        node.serving()
        started = load(node)["started"]
        running = send_prediction(node, 2.0)
        node.until(lambda: load(node)["running"] == 1 or None)
        waiting = [send_prediction(node, 4.0) for _ in range(5)]
        half_closed = send_prediction(node, 6.0)
        half_closed.shutdown(socket.SHUT_WR)
        node.until(lambda: load(node)["queued"] == 6 or None)
        for each in waiting:
            each.close()
        node.until(lambda: load(node)["queued"] <= 1 or None)
        answer = read_all(half_closed)
        assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n") and b'[5.0' in answer
        assert running.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
        assert load(node)["started"] == started + 2
        running.close()
        half_closed.close()


@pytest.mark.contract("S11")
def test_an_endless_request_does_not_keep_a_node_from_draining(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--rest_drain_timeout_ms=500") as node:
        node.serving()
        with socket.create_connection(("127.0.0.1", node.rest_port), SECONDS) as endless:
            endless.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 200000000\r\n\r\n")
            node.process.terminate()
            while node.process.poll() is None:
                try:
                    endless.sendall(b"x" * 100)
                except OSError:
                    break
            assert node.process.wait(SECONDS) == 0


@pytest.mark.contract("F15")
def test_the_port_and_the_unix_socket_share_the_limit_of_connections(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, f"--grpc_socket_path={tmp_path}/s", "--grpc_max_connections=2") as node:
        node.serving()
        node.channel.close()
        node.until(lambda: node.admin_json("/debug/state")["connections"] == 0 or None)
        def is_greeted(connection: socket.socket) -> bool:
            """Whether the server sends something first, as HTTP/2 servers do."""
            connection.settimeout(0.5)
            try:
                return connection.recv(1) != b""
            except TimeoutError:
                return False
        def connect_to_socket() -> socket.socket:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(f"{tmp_path}/s")
            return connection
        held = [socket.create_connection(("127.0.0.1", node.grpc_port)) for _ in range(2)]
        assert [is_greeted(each) for each in held] == [True, True]
        waiting = connect_to_socket()
        assert not is_greeted(waiting)
        for each in held:
            each.close()
        waiting.settimeout(SECONDS)
        assert waiting.recv(1) != b""
        waiting.close()
