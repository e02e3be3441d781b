"""What a hostile HTTP/2 client can do to the gRPC port. docs/security.md says what each came to."""

import contextlib
import os
import resource
import socket
import subprocess
import sys
import threading
import time

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, predict, request
from http2 import CANCEL, CONTINUATION, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS
from http2 import Connection, call, framed, indexed, plain, remembered
from serving import running_node

MODEL = "half_plus_two_tf1"
HEALTH = "/grpc.health.v1.Health/Check"
PREDICT = "/tensorflow.serving.PredictionService/Predict"
NOWHERE = "/no.Such/Method"
RESET_CALL_BYTES = 64 << 10  # Seen: 20 to 40 KB.


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with running_node(tmp_path_factory.mktemp("http2"), MODEL, MODELS / MODEL, "--connection_age_max_ms=0") as started:
        yield started.serving()


@pytest.fixture(autouse=True)
def node_that_serves_on(node):
    """Whatever a test sent: the node lives, and others are served."""
    yield
    assert node.process.poll() is None, node.log.read_text()[-3000:]
    assert predict(node, request(MODEL, x=np.array([2], np.float32))).outputs["y"].float_val == [3.0]


def seconds_of_processor(node) -> float:
    fields = open(f"/proc/{node.process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(node) -> int:
    return int(open(f"/proc/{node.process.pid}/statm").read().split()[1]) * resource.getpagesize()


@pytest.mark.contract("S8")
def test_the_client_itself_is_understood(node):
    with Connection(node.grpc_port) as connection:
        assert "grpc-status\x010" in connection.answer(connection.request(call(HEALTH)))
        assert "grpc-status\x0212" in connection.answer(connection.request(call(NOWHERE)))


@pytest.mark.contract("S8")
@pytest.mark.parametrize("head", [
    call(HEALTH, te="gzip"), call(HEALTH, scheme="ftp"), call(HEALTH, plain("grpclb_client_stats", "x"))],
    ids=["te", "scheme", "grpclb_client_stats"])
@pytest.mark.parametrize("size", [100, 9_000, 20_000, 70_000])
def test_cve_2023_1428_an_odd_header_before_a_large_one_does_not_end_the_program(node, head, size):
    with Connection(node.grpc_port) as connection:
        connection.answer(connection.request(head + plain("x-large", "x" * size)))
        connection.answer(connection.request(head + remembered("x-large", "x" * size)))


@pytest.mark.contract("S8")
@pytest.mark.parametrize("times", [1, 100, 1000])
def test_cve_2023_32731_a_header_that_is_too_large_does_not_shift_the_table_of_headers(node, times):
    """Behind what is too large a header enters the table; were it skipped, entry 62 would still be the older path."""
    with Connection(node.grpc_port) as connection:
        large = remembered("x-large", "x" * 1000)
        connection.answer(connection.request(call(NOWHERE, large)))
        assert "grpc-status\x010" in connection.answer(connection.request(call(remembered(":path", HEALTH))))
        connection.answer(connection.request(call(NOWHERE, indexed(63) * times, remembered(":path", NOWHERE))))
        said = connection.answer(connection.request(call(indexed(62))))
        assert "grpc-status\x010" not in said
        assert times > 1 or "grpc-status\x0212" in said


@pytest.mark.contract("S8")
def test_cve_2023_4785_connections_beyond_the_descriptors_do_not_end_the_accepting(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL) as node:
        node.serving()
        pid, used = node.process.pid, len(os.listdir(f"/proc/{node.process.pid}/fd"))
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 20, limits[1]))
        many = [socket.create_connection(("127.0.0.1", node.grpc_port), SECONDS) for _ in range(60)]
        node.logs("cannot accept")
        for each in many:
            each.close()
        with grpc.insecure_channel(f"127.0.0.1:{node.grpc_port}") as fresh:
            grpc.channel_ready_future(fresh).result(SECONDS)


class Neighbour:
    """Another client, and how long its calls took."""

    def __init__(self, node):
        self.node, self.seconds, self.failed, self.stopping = node, [], [], threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        made = request(MODEL, x=np.array([2], np.float32))
        while not self.stopping.is_set():
            begun = time.monotonic()
            try:
                predict(self.node, made)
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
    """Every processor has other work, so that the node's threads get their turns late and unevenly."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(1 + os.cpu_count())]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@pytest.mark.contract("S8")
@pytest.mark.parametrize("around", [contextlib.nullcontext, busy_processors], ids=["quiet", "busy"])
@pytest.mark.parametrize("path", [NOWHERE, HEALTH, PREDICT])
def test_cve_2023_44487_rapid_reset_neither_ends_the_program_nor_its_other_clients(node, path, around):
    """A call that was reset lives until gRPC has ended it, which may be late; it costs no more, and is given back."""
    before = resident_bytes(node)
    with around():
        sent = rapid_reset(node, path)
    assert resident_bytes(node) - before < max(64 << 20, sent * RESET_CALL_BYTES)
    give_up = time.monotonic() + SECONDS
    while resident_bytes(node) - before > 64 << 20 and time.monotonic() < give_up:
        predict(node, request(MODEL, x=np.array([2], np.float32)))
    assert resident_bytes(node) - before < 64 << 20


def rapid_reset(node, path) -> int:
    """Opens streams and resets them for as long as it may; other clients are served meanwhile. Gives their number."""
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
def test_a_flood_of_pings_ends_its_connection(node):
    with Connection(node.grpc_port) as connection:
        for _ in range(200):
            connection.send(connection.frame(PING, 0, 0, b"12345678") * 50)
        assert connection.goaway(SECONDS) in (11, -1)  # ENHANCE_YOUR_CALM


@contextlib.contextmanager
def header_without_end(node, size: int):
    """A header in CONTINUATION frames of `size` bytes together, or less where the node ends it. Gives what was sent."""
    piece, sent = plain("x-more", "y" * 16000), 0
    with Connection(node.grpc_port) as connection:
        stream = connection.next_stream()
        connection.send(connection.frame(HEADERS, END_STREAM, stream, call(NOWHERE)))
        while sent < size and connection.send(connection.frame(CONTINUATION, 0, stream, piece)):
            sent += len(piece)
        yield sent


@pytest.mark.contract("S8")
def test_a_header_without_end_costs_memory_like_what_was_sent(node):
    """CONTINUATION frames for ever. gRPC 1.51 counts the bytes of each frame alone, so this is as good as it gets."""
    before = resident_bytes(node)
    with header_without_end(node, 32 << 20) as sent:
        assert predict(node, request(MODEL, x=np.array([2], np.float32))).outputs["y"].float_val == [3.0]
    assert resident_bytes(node) - before < 4 * sent  # With what was sent lie the buffers that it was read into.


@pytest.mark.contract("S8")
def test_clients_that_go_amid_what_they_send_do_not_hold_a_node_that_leaves(tmp_path):
    """Of such connections gRPC 1.51 misses the end of about one in ten. That the node leaves is said when it is ended."""
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--connection_age_max_ms=0") as node:
        node.serving()
        for _ in range(60):
            with header_without_end(node, 16 << 20):
                pass


@pytest.mark.contract("S8")
def test_a_header_that_grows_when_unpacked_is_bounded(node):
    """64 MB by naming one entry of 4 kB of the table again and again."""
    before = resident_bytes(node)
    with Connection(node.grpc_port) as connection:
        connection.answer(connection.request(call(NOWHERE, remembered("x-bomb", "b" * 4000), indexed(62) * 16000)))
    assert resident_bytes(node) - before < 16 << 20


def answers_that_are_not_read(node, count: int) -> Connection:
    """Predictions on a connection whose client lets no byte of their answers through."""
    connection = Connection(node.grpc_port, window=0)
    message = request(MODEL, x=np.array([2], np.float32)).SerializeToString()
    for _ in range(count):
        connection.request(call(PREDICT), framed(message))
    return connection


def finds_no_place(node) -> bool:
    try:
        predict(node, request(MODEL, x=np.array([2], np.float32)))
    except grpc.RpcError as error:
        return error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    return False


@pytest.mark.contract("S7", "S8")
def test_answers_that_are_not_read_keep_their_places_and_give_them_back_soon(tmp_path):
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--max_requests_in_flight=2", "--connection_age_max_ms=0") as node:
        node.serving()
        with answers_that_are_not_read(node, 2):
            node.until(lambda: finds_no_place(node) or None)
            node.until(lambda: not finds_no_place(node) or None)  # After 10 seconds.


@pytest.mark.contract("S8", "S11")
def test_an_answer_that_is_not_read_does_not_keep_a_node_that_leaves(tmp_path):
    flags = ("--max_requests_in_flight=1", "--connection_age_max_ms=0", "--grpc_drain_timeout_ms=500")
    with running_node(tmp_path, MODEL, MODELS / MODEL, *flags) as node:
        node.serving()
        with answers_that_are_not_read(node, 1):
            node.until(lambda: finds_no_place(node) or None)
            node.process.terminate()
            assert node.process.wait(9) == 0  # Before the time of the answer is up.


@pytest.mark.contract("S8")
def test_a_client_that_never_greets_is_disconnected(tmp_path):
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
def test_what_is_no_http2_is_disconnected(node, sent):
    with socket.create_connection(("127.0.0.1", node.grpc_port), SECONDS) as other:
        other.sendall(sent)
        with contextlib.suppress(ConnectionError):
            while other.recv(1000):
                pass


@pytest.mark.contract("S8")
def test_empty_settings_without_end_are_answered_and_cost_no_memory(node):
    before = resident_bytes(node)
    with Connection(node.grpc_port) as connection:
        begun = time.monotonic()
        for _ in range(500):
            if not connection.send(connection.frame(SETTINGS, 0, 0, b"") * 100) or time.monotonic() - begun > 20:
                break
    assert resident_bytes(node) - before < 32 << 20
