"""Attacks of a hostile HTTP/2 client on the gRPC port. docs/security.md describes them and their results."""

import contextlib
import os
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, predict, request
from http2 import CANCEL, CONTINUATION, DATA, END_STREAM, FRAME_MAX, HEADERS, PING, RST_STREAM, SETTINGS
from http2 import Connection, call, framed, header, header_added_to_table, table_entry
from serving import running_node

MODEL = "half_plus_two_tf1"
HEALTH = "/grpc.health.v1.Health/Check"
PREDICT = "/tensorflow.serving.PredictionService/Predict"
UNKNOWN_METHOD = "/no.Such/Method"
FLOOD_BYTES = 16 << 20  # The node may use so much more memory than before a flood. Measured: 1 MB.


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with running_node(tmp_path_factory.mktemp("http2"), MODEL, MODELS / MODEL, "--connection_age_max_ms=0") as started:
        yield started.serving()


@pytest.fixture(autouse=True)
def node_still_serves(node):
    """After every test the node must still run and answer other clients."""
    yield
    assert node.process.poll() is None, node.log.read_text()[-3000:]
    assert predict(node, request(MODEL, x=np.array([2], np.float32))).outputs["y"].float_val == [3.0]


def resident_bytes(node) -> int:
    return int(open(f"/proc/{node.process.pid}/statm").read().split()[1]) * resource.getpagesize()


@pytest.mark.contract("S8")
def test_the_http2_client_of_these_tests_gets_answers(node):
    with Connection(node.grpc_port) as connection:
        assert "grpc-status\x010" in connection.answer(connection.request(call(HEALTH)))
        assert "grpc-status\x0212" in connection.answer(connection.request(call(UNKNOWN_METHOD)))


@pytest.mark.contract("S8")
@pytest.mark.parametrize("head", [
    call(HEALTH, te="gzip"), call(HEALTH, scheme="ftp"), call(HEALTH, header("grpclb_client_stats", "x"))],
    ids=["te", "scheme", "grpclb_client_stats"])
@pytest.mark.parametrize("size", [100, 9_000, 20_000, 70_000])
def test_cve_2023_1428_an_invalid_header_before_a_large_one_does_not_crash_the_node(node, head, size):
    with Connection(node.grpc_port) as connection:
        connection.answer(connection.request(head + header("x-large", "x" * size)))
        connection.answer(connection.request(head + header_added_to_table("x-large", "x" * size)))


@pytest.mark.contract("S8")
@pytest.mark.parametrize("times", [1, 100, 1000])
def test_cve_2023_32731_too_large_headers_do_not_shift_the_header_table(node, times):
    """A header after too large ones is added to the table. If it were skipped, entry 62 would still be the older path."""
    with Connection(node.grpc_port) as connection:
        large = header_added_to_table("x-large", "x" * 1000)
        connection.answer(connection.request(call(UNKNOWN_METHOD, large)))
        assert "grpc-status\x010" in connection.answer(connection.request(call(header_added_to_table(":path", HEALTH))))
        connection.answer(connection.request(call(UNKNOWN_METHOD, table_entry(63) * times, header_added_to_table(":path", UNKNOWN_METHOD))))
        headers = connection.answer(connection.request(call(table_entry(62))))
        assert "grpc-status\x010" not in headers
        assert times > 1 or "grpc-status\x0212" in headers


@pytest.mark.contract("S8")
@pytest.mark.parametrize("protocol", ["gRPC", "REST"])
def test_cve_2023_4785_the_node_accepts_again_after_running_out_of_descriptors(tmp_path, protocol):
    with running_node(tmp_path, MODEL, MODELS / MODEL) as node:
        node.serving()
        pid, used = node.process.pid, len(os.listdir(f"/proc/{node.process.pid}/fd"))
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 20, limits[1]))
        port = node.grpc_port if protocol == "gRPC" else node.rest_port
        many = [socket.create_connection(("127.0.0.1", port), SECONDS) for _ in range(60)]
        node.logs("cannot accept")
        for each in many:
            each.close()
        if protocol == "gRPC":
            with grpc.insecure_channel(f"127.0.0.1:{port}") as fresh:
                grpc.channel_ready_future(fresh).result(SECONDS)
        else:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models/{MODEL}", timeout=SECONDS) as answer:
                assert answer.status == 200


class Neighbour:
    """Another client, which measures how long its calls take."""

    def __init__(self, node):
        self.node, self.seconds, self.failed, self.stopping = node, [], [], threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        proto = request(MODEL, x=np.array([2], np.float32))
        while not self.stopping.is_set():
            begun = time.monotonic()
            try:
                predict(self.node, proto)
            except grpc.RpcError as error:
                self.failed.append(error)
            self.seconds.append(time.monotonic() - begun)

    def stop(self) -> float:
        self.stopping.set()
        self.thread.join()
        assert self.failed == []
        return float(np.quantile(self.seconds, 0.5))


@contextlib.contextmanager
def busy_processors():
    """Keeps every processor busy, so that the node's threads are scheduled late and unevenly."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(1 + os.cpu_count())]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.contract("S8")
@pytest.mark.parametrize("environment", [contextlib.nullcontext, busy_processors], ids=["quiet", "busy"])
@pytest.mark.parametrize("path", [UNKNOWN_METHOD, HEALTH, PREDICT])
def test_cve_2023_44487_rapid_reset_harms_neither_the_node_nor_its_other_clients(node, path, environment):
    before = resident_bytes(node)
    with environment():
        assert rapid_reset(node, path) < 20_000, "the node did not close the connection"
    assert resident_bytes(node) - before < FLOOD_BYTES


def rapid_reset(node, path) -> int:
    """Opens and resets up to 20,000 streams while another client is served; returns the number of streams."""
    neighbour = Neighbour(node)
    block, sent, begun = call(path), 0, time.monotonic()
    with Connection(node.grpc_port) as connection:
        reader = threading.Thread(target=lambda: [None for _ in iter(connection.read, None)])
        reader.start()
        while sent < 20_000 and time.monotonic() - begun < 20:
            frames = []
            for _ in range(100):
                stream = connection.next_stream()
                frames += [connection.header_frames(stream, block),
                           connection.frame(RST_STREAM, 0, stream, CANCEL.to_bytes(4, "big"))]
            sent += 100
            if not connection.send(b"".join(frames)):
                break
        connection.socket.shutdown(socket.SHUT_RDWR)
        reader.join()
    assert neighbour.stop() < 1
    return sent


@pytest.mark.contract("S8")
def test_2000_calls_that_time_out_do_not_end_their_connection(node):
    """A client of gRPC resets a call at its deadline, so many short deadlines are many resets."""
    with Connection(node.grpc_port) as connection:
        block = call(PREDICT, header("grpc-timeout", "10m"))
        for _ in range(20):
            streams = [connection.next_stream() for _ in range(100)]
            assert connection.send(b"".join(connection.header_frames(stream, block) for stream in streams))
            assert connection.send(b"".join(connection.frame(RST_STREAM, 0, stream, CANCEL.to_bytes(4, "big")) for stream in streams))
        assert "grpc-status\x010" in connection.answer(connection.request(call(HEALTH)))


@pytest.mark.contract("S8")
def test_a_connection_with_a_flood_of_pings_is_closed(node):
    with Connection(node.grpc_port) as connection:
        for _ in range(200):
            connection.send(connection.frame(PING, 0, 0, b"12345678") * 50)
        assert connection.goaway(SECONDS) in (11, -1)  # ENHANCE_YOUR_CALM


@pytest.mark.contract("S8")
def test_cve_2024_28182_an_endless_header_ends_its_connection(node):
    before = resident_bytes(node)
    piece = header("x-more", "y" * 16000)
    with Connection(node.grpc_port) as connection:
        stream = connection.next_stream()
        connection.send(connection.frame(HEADERS, END_STREAM, stream, call(UNKNOWN_METHOD)))
        for _ in range(2000):  # After the end, the node reads on for a second, and drops what it reads.
            if not connection.send(connection.frame(CONTINUATION, 0, stream, piece)):
                break
        assert connection.goaway(SECONDS) in (11, -1)  # ENHANCE_YOUR_CALM
    assert resident_bytes(node) - before < FLOOD_BYTES


@pytest.mark.contract("S8")
def test_clients_that_disconnect_while_sending_do_not_keep_a_node_from_draining(tmp_path):
    """running_node checks at its end that the node exits."""
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--connection_age_max_ms=0") as node:
        node.serving()
        for _ in range(60):
            with Connection(node.grpc_port) as connection:
                stream = connection.next_stream()
                message = connection.frame(DATA, 0, stream, framed(b"x" * 100_000)[:FRAME_MAX])
                connection.send(connection.header_frames(stream, call(PREDICT)) + message)


@pytest.mark.contract("S8")
def test_a_header_that_grows_when_decoded_is_limited(node):
    """64 MB after decoding: the header refers 16,000 times to a table entry of 4 kB."""
    before = resident_bytes(node)
    with Connection(node.grpc_port) as connection:
        connection.answer(connection.request(call(UNKNOWN_METHOD, header_added_to_table("x-bomb", "b" * 4000), table_entry(62) * 16000)))
    assert resident_bytes(node) - before < FLOOD_BYTES


def unread_answers(node, count: int) -> Connection:
    """Sends predictions on a connection whose flow control window lets no byte of the answers through.

    Returns once all of them are answered and not rejected: the headers of an answer do not need the window.
    """
    connection = Connection(node.grpc_port, window=0)
    message = request(MODEL, x=np.array([2], np.float32)).SerializeToString()
    for _ in range(count):
        stream = connection.request(call(PREDICT), framed(message))
        while (frame := connection.read()) is not None and (frame[0], frame[2]) != (HEADERS, stream):
            pass
        assert frame is not None and not frame[1] & END_STREAM, f"the prediction was not answered: {frame}"
    return connection


def is_rejected(node) -> bool:
    try:
        predict(node, request(MODEL, x=np.array([2], np.float32)))
    except grpc.RpcError as error:
        return error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    return False


@pytest.mark.contract("S7", "S8")
def test_unread_answers_count_as_in_flight_until_their_calls_are_cancelled(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--max_requests_in_flight=2", "--connection_age_max_ms=0") as node:
        node.serving()
        with unread_answers(node, 2):
            node.until(lambda: is_rejected(node) or None)
            node.until(lambda: not is_rejected(node) or None)  # After 10 seconds.


@pytest.mark.contract("S7")
def test_an_overloaded_node_refuses_a_prediction_before_its_body_arrives(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--max_requests_in_flight=1", "--connection_age_max_ms=0") as node:
        node.serving()
        with unread_answers(node, 1), Connection(node.grpc_port) as connection:
            stream = connection.next_stream()
            connection.send(connection.header_frames(stream, call(PREDICT)))
            assert "grpc-status\x018" in connection.answer(stream)
            assert "grpc-status\x010" in connection.answer(connection.request(call(HEALTH)))


@pytest.mark.contract("S8", "S11")
def test_an_unread_answer_does_not_keep_a_node_from_draining(tmp_path):
    flags = ("--max_requests_in_flight=1", "--connection_age_max_ms=0", "--grpc_drain_timeout_ms=500")
    with running_node(tmp_path, MODEL, MODELS / MODEL, *flags) as node:
        node.serving()
        with unread_answers(node, 1):
            node.until(lambda: is_rejected(node) or None)
            node.process.terminate()
            assert node.process.wait(9) == 0  # Before the answer times out after 10 seconds.


@pytest.mark.contract("S8")
def test_a_client_that_sends_nothing_is_disconnected(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL) as node:
        node.serving()
        with socket.create_connection(("127.0.0.1", node.grpc_port), 15) as silent:
            begun = time.monotonic()
            while silent.recv(1000):
                pass
            assert time.monotonic() - begun < 14


@pytest.mark.contract("S8")
@pytest.mark.parametrize("sent", [
    b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,
    b"SSH-2.0-client\r\n", os.urandom(1000)])
def test_a_client_that_does_not_send_http2_is_disconnected(node, sent):
    with socket.create_connection(("127.0.0.1", node.grpc_port), SECONDS) as other:
        other.sendall(sent)
        with contextlib.suppress(ConnectionError):
            while other.recv(1000):
                pass


@pytest.mark.contract("S8")
def test_endless_empty_settings_use_no_memory(node):
    before = resident_bytes(node)
    with Connection(node.grpc_port) as connection:
        begun = time.monotonic()
        for _ in range(500):
            if not connection.send(connection.frame(SETTINGS, 0, 0, b"") * 100) or time.monotonic() - begun > 20:
                break
    assert resident_bytes(node) - before < FLOOD_BYTES
