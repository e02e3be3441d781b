"""Attacks known from security advisories of other model servers, with one test for each class of weakness.

Each docstring names the advisories and the code that guards against them.
"""

import concurrent.futures
import gzip
import json
import os
import resource
import shutil
import socket
import threading

import grpc
import numpy as np
import pytest
import tensorflow as tf
from calls import MODELS, SECONDS, call_error, floats, predict, request
from serving import BINARY, running_node
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import classification_pb2, get_model_status_pb2

X = np.array([2.0], np.float32)
HALF = "/v1/models/half_plus_two_tf1"
MIB = 1 << 20
INVALID, EXHAUSTED = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.fixture
def half(tmp_path):
    """A node for one test only, because the test may crash it."""
    with running_node(tmp_path, "half_plus_two_tf1", MODELS / "half_plus_two_tf1",
                      "--request_inflated_bytes_max=4194304", "--rest_max_request_bytes=8388608") as node:
        yield node.serving()


def send_raw(node, *pieces: bytes) -> bytes:
    """Sends these bytes, closes the sending side, and returns the answer."""
    host, port = node.rest_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        answer = bytearray()

        def read():
            try:
                while piece := connection.recv(65536):
                    answer.extend(piece)
            except ConnectionError:
                pass
        reader = threading.Thread(target=read)
        reader.start()
        try:
            for piece in pieces:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # The node answered and closed the connection before everything was sent.
        reader.join(SECONDS)
        assert not reader.is_alive(), "the connection was never closed"
        return bytes(answer).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")  # See S9.


def post(body: bytes, *headers: str, path: str = HALF + ":predict") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: h", "Connection: close", *headers]
    if not any("Transfer-Encoding" in one or "Content-Length" in one for one in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def still_serves(node) -> bool:
    return node.process.poll() is None and node.rest_predict({"instances": [2.0]}) == (200, {"predictions": [3.0]})


class Growth:
    """Measures by how much the node's resident memory grows at its peak, in MiB."""

    def __init__(self, node):
        self.process = f"/proc/{node.process.pid}"

    def _kib(self, name: str) -> int:
        with open(self.process + "/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name))

    def __enter__(self):
        with open(self.process + "/clear_refs", "w") as file:
            file.write("5")  # Resets the peak (VmHWM).
        self.before = self._kib("VmRSS:")
        return self

    def __exit__(self, *_):
        self.mib = (self._kib("VmHWM:") - self.before) / 1024


# ------------------------------------------------------------------------------------------------------- Memory safety

@pytest.mark.contract("X1")
def test_a_body_in_many_chunks_uses_no_more_memory_than_one_in_few(half):
    """CWE-121, -787 (CVE-2025-23310, -23311: memory on the stack for each chunk). Guard: RequestReader gives the
    parser one limit for bodies of both kinds."""
    body = b'{"instances": [2.0' + b" " * 200_000 + b"]}"
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    with Growth(half) as growth:
        answer = send_raw(half, post(b"", "Transfer-Encoding: chunked"), chunks)
    assert status(answer) == 200 and growth.mib < 16
    endless = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    assert status(send_raw(half, post(b"", "Transfer-Encoding: chunked"), endless * 3000)) == 413
    assert status(send_raw(half, post(b"", "Transfer-Encoding: chunked"), b"ffffffffffffffff1\r\n1\r\n")) == 400
    assert still_serves(half)


# ------------------------------------------------------------------------------------------------------ Missing limits

@pytest.mark.contract("J9")
def test_deep_nesting_does_not_exhaust_a_small_stack(tmp_path):
    """CWE-674 (CVE-2025-0649, -23325). Guards: kJsonDepthMax of JsonBody, and kParseIterativeFlag of the
    JSON library."""
    before = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, before[1]))  # The node's threads get stacks of this size.
    try:
        with running_node(tmp_path, "half_plus_two_tf1", MODELS / "half_plus_two_tf1") as node:
            node.serving()
            for nested in (b"[" * 1_000_000, b'{"a":' * 1_000_000, b'{"instances": ' + b"[" * 500_000 + b"]" * 500_000 + b"}"):
                assert status(send_raw(node, post(nested))) == 400
            assert still_serves(node)
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, before)


@pytest.mark.contract("E7", "X2")
def test_a_small_request_for_gigabytes_allocates_no_memory(half):
    """CWE-789 (CVE-2025-23331, CVE-2026-24158). Guards: CheckFilled of tensor/proto.cc, and GrowingBody of
    common/net/http for a Content-Length without the body."""
    with Growth(half) as growth:
        for tensor in (floats([1 << 27], float_val=[1]), floats([1 << 27]), floats([1 << 12, 1 << 14], float_val=[1])):
            assert call_error(half.predictions.Predict, request(half.model, x=tensor)) == (INVALID, "tensor parsing error: x")
    assert growth.mib < 32
    with Growth(half) as growth:
        connections = [socket.create_connection(half.rest_url.removeprefix("http://").split(":")) for _ in range(50)]
        for connection in connections:
            connection.sendall(post(b"1" * 100, "Content-Length: 8000000"))
        assert still_serves(half)
        for connection in connections:
            connection.close()
    assert growth.mib < 32


@pytest.mark.contract("E8")
def test_duplicate_output_names_are_rejected(half):
    """CWE-770 (CVE-2026-24146: the number of outputs). Guard: CheckOutputNames rejects duplicate names."""
    proto = request(half.model, x=X)
    proto.output_filter.extend(["y"] * 100_000)
    assert call_error(half.predictions.Predict, proto) == (INVALID, "duplicate output tensor alias: y")


@pytest.mark.contract("R10", "X1")
def test_a_gzip_bomb_is_not_decompressed(half):
    """CWE-409 (CVE-2026-24158, -24264). Guard: Inflate stops above its limit, also for several concatenated
    streams."""
    bombs = gzip.compress(b"[" * (200 * MIB), 9), gzip.compress(b"[" * (3 * MIB), 9) * 60
    with Growth(half) as growth:
        for bomb in bombs:
            assert status(send_raw(half, post(bomb, "Content-Encoding: gzip"))) == 413
    assert growth.mib < 40
    twice = gzip.compress(gzip.compress(b'{"instances": [2.0]}'))
    assert status(send_raw(half, post(twice, "Content-Encoding: gzip, gzip"))) == 415
    assert still_serves(half)


@pytest.mark.contract("X3")
def test_copies_of_a_context_are_limited(tmp_path):
    """CWE-409 without compression: a context of 2 MB, copied into each of 600 examples: 1.2 GB. Guard: kContextBytesMax of inference."""
    with running_node(tmp_path, "examples_tf1", MODELS / "examples_tf1") as node:
        node.serving()
        proto = classification_pb2.ClassificationRequest()
        proto.model_spec.name = node.model
        proto.model_spec.signature_name = "classify_x"
        proto.input.example_list_with_context.context.features.feature["c"].bytes_list.value.append(b"c" * (2 * MIB))
        proto.input.example_list_with_context.examples.extend([tf.train.Example()] * 600)
        with Growth(node) as growth:
            code, text = call_error(node.predictions.Classify, proto)
        assert (code, text) == (EXHAUSTED, "a context of 2097180 bytes, copied into each of 600 examples, exceeds 67108864 bytes")
        assert growth.mib < 64


class Exploding(tf.Module):
    """One signature for each op whose output can be much larger than its input; n sets the size."""

    @staticmethod
    def ops() -> dict:
        one = tf.constant([1.0])
        return {
            "fill": lambda n: tf.fill([n, 1000], 1.0), "range": lambda n: tf.range(n * 1000),
            "tile": lambda n: tf.tile(one, [n * 1000]), "broadcast": lambda n: tf.broadcast_to(one, [n, 1000]),
            "one_hot": lambda n: tf.one_hot([1, 2], n * 1000), "pad": lambda n: tf.pad(one, [[0, n * 1000]]),
            "outer": lambda n: tf.reshape(tf.cast(tf.range(n), tf.float32), [-1, 1]) * tf.ones([1000]),
        }

    def export(self, path) -> None:
        def serve(function):
            spec = tf.TensorSpec([], tf.int32, name="n")
            return tf.function(lambda n: {"y": tf.reduce_sum(tf.cast(function(n), tf.float32))}, input_signature=[spec])
        tf.saved_model.save(self, str(path), signatures={
            name: serve(function).get_concrete_function() for name, function in self.ops().items()})


@pytest.fixture(scope="module")
def exploding(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exploding")
    Exploding().export(folder / "model" / "1")
    with running_node(folder, "exploding", folder / "model", "--run_memory_bytes_max=33554432") as node:
        yield node.serving()


@pytest.mark.contract("X4")
@pytest.mark.parametrize("op", Exploding.ops())
def test_an_op_allocates_no_more_than_the_memory_limit_of_a_run(exploding, op):
    """CWE-789, Q15 and Q19 of any engine (CVE-2026-34756). Guard: Call::HasRoomFor, called before an allocation."""
    answer = predict(exploding, request(exploding.model, op, n=tf.constant(100)))
    assert np.isfinite(tf.make_ndarray(answer.outputs["y"]))
    with Growth(exploding) as growth:
        code, text = call_error(exploding.predictions.Predict, request(exploding.model, op, n=tf.constant(2_000_000)))
    assert code == EXHAUSTED
    assert 'op "' in text and '(node "' in text and "left of the run's memory" in text
    assert growth.mib < 48


@pytest.mark.contract("X5")
def test_rejected_requests_leak_no_memory(half):
    """CWE-401 (CVE-2026-47482). Guard: a request is owned by its call and freed with it."""
    wrong = [request(half.model, x=np.zeros([1, 1 << 16], np.float64)), request(half.model, x=np.zeros(1 << 16, np.int32)),
             request("x", x=np.zeros(1 << 16, np.float32)), request(half.model, z=np.zeros(1 << 16, np.float32))]

    def send(times: int) -> None:
        for _ in range(times):
            for proto in wrong:
                call_error(half.predictions.Predict, proto)
            assert half.rest(HALF + ":predict", '{"instances": [' + '"x", ' * 50_000)[0] == 400
    send(10)  # Allocations that happen only once.
    with Growth(half) as growth:
        send(60)
    assert growth.mib < 16


# ---------------------------------------------------------------------------------------------------- Integer overflow

@pytest.mark.contract("E7")
@pytest.mark.parametrize("shape", [[1 << 62, 4], [1 << 33, 1 << 33], [-2, -2], [3, -1], [1 << 63 - 1, 2], [2] * 64, [1] * 300])
def test_overflows_in_the_product_of_a_shape_are_detected(half, shape):
    """CWE-190 (CVE-2025-23323 to -23327, CVE-2026-24173). Guard: the checked product of tensor::ElementCount."""
    assert call_error(half.predictions.Predict, request(half.model, x=floats(shape, float_val=[1.0] * 4))) == (
        INVALID, "tensor parsing error: x")
    assert still_serves(half)


# -------------------------------------------------------------------------------------------------------------- Paths

NAMES = ["..", "../secret", "..%2fsecret", "%2e%2e%2fsecret", "a/../../secret", "/etc", "secret\0", "%00", "n" * 300, "a\\..\\b"]


@pytest.fixture
def node_with_unserved_model(tmp_path):
    """A node with a second model next to its own on the disk, which is not configured."""
    shutil.copytree(MODELS / "half_plus_two_tf1", tmp_path / "models" / "half_plus_two_tf1")
    shutil.copytree(MODELS / "half_plus_two_tf1", tmp_path / "models" / "secret")
    with running_node(tmp_path, "half_plus_two_tf1", tmp_path / "models" / "half_plus_two_tf1") as node:
        yield node.serving()


@pytest.mark.contract("E2", "E12", "X6")
@pytest.mark.parametrize("name", NAMES)
def test_a_name_never_becomes_a_path(node_with_unserved_model, name):
    """CWE-22 (CVE-2023-31036, CVE-2026-47627). Guard: names are only looked up among the configured models."""
    node = node_with_unserved_model
    assert call_error(node.predictions.Predict, request(name, x=X)) == (
        grpc.StatusCode.NOT_FOUND, f"Servable not found for request: Latest({name})")
    proto = get_model_status_pb2.GetModelStatusRequest()
    proto.model_spec.name = name
    assert call_error(node.models.GetModelStatus, proto) == (
        grpc.StatusCode.NOT_FOUND, f"Could not find any versions of model {name}")
    quoted = name.replace("\0", "%00").replace("\\", "%5c")
    for path in (f"/v1/models/{quoted}:predict", f"/v1/models/half_plus_two_tf1/labels/{quoted}:predict"):
        assert status(send_raw(node, post(b'{"instances": [2.0]}', path=path))) in (400, 404)
    assert status(send_raw(node, f"GET /v1/models/{quoted} HTTP/1.0\r\n\r\n".encode())) in (400, 404)


@pytest.mark.contract("X7")
@pytest.mark.parametrize("name", ["../../../secret.txt", "/etc/hostname", "a/../../../secret.txt"])
def test_a_model_cannot_read_files_outside_of_its_folder(tmp_path, name):
    """CWE-22 in a model file (ONNX: five advisories for one bug). Guard: AssetPath of saved_model."""
    shutil.copytree(MODELS / "strings", tmp_path / "models")
    (tmp_path / "secret.txt").write_text("one\ntwo\n")
    file = tmp_path / "models" / "1" / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    for asset in model.meta_graphs[0].asset_file_def:
        asset.filename = name
    file.write_bytes(model.SerializeToString())
    with running_node(tmp_path, "strings", tmp_path / "models", "--max_num_load_retries=0") as node:
        assert "is not below" in node.refusal()


def python_function() -> float:
    return 1.0


def save_model_with(folder, extra) -> None:
    """Saves a model that answers y = x + extra()."""
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def serve(x):
        return {"y": x + extra()}
    module = tf.Module()
    module.serve = serve
    tf.saved_model.save(module, str(folder), signatures=serve)


@pytest.mark.contract("X13")
@pytest.mark.parametrize("op, extra", [
    ("ReadFile", lambda: tf.cast(tf.strings.length(tf.io.read_file("/etc/hostname")), tf.float32)),
    ("PyFunc", lambda: tf.py_function(python_function, [], tf.float32))])
def test_a_model_that_needs_something_outside_of_its_process_is_not_loaded(tmp_path, op, extra):
    """CWE-73 (TensorFlow: ReadFile in a model). Guard: the engine has no such op."""
    save_model_with(tmp_path / "models" / "1", extra)
    with running_node(tmp_path, "m", tmp_path / "models", "--max_num_load_retries=0") as node:
        refusal = node.refusal()
        assert "unsupported ops: " in refusal and op in refusal


@pytest.mark.contract("X13")
@pytest.mark.parametrize("write", [
    lambda file: tf.io.write_file(file, "by a model"),
    lambda file: tf.raw_ops.SaveV2(prefix=file, tensor_names=["x"], shape_and_slices=[""], tensors=[1.0]),
    lambda file: tf.print("by a model", output_stream=f"file://{file}")], ids=["WriteFile", "SaveV2", "PrintV2"])
def test_a_model_writes_no_files(tmp_path, write):
    """CWE-73 (TensorFlow: WriteFile in a model). Guard: the engine has no such op, and plans only what outputs need."""
    def extra():
        write(str(tmp_path / "written"))
        return 1.0
    save_model_with(tmp_path / "models" / "1", extra)
    with running_node(tmp_path, "m", tmp_path / "models") as node:
        node.serving()
        assert list(predict(node, request("m", x=X)).outputs["y"].float_val) == [3.0]
    assert not list(tmp_path.glob("written*"))


# ---------------------------------------------------------------------------------------------------------- Routes

ADMIN = ["/metrics", "/debug/state", "/readyz", "/livez", "/v1/../metrics", "//metrics", "/v1/models/../../metrics", "/METRICS"]


@pytest.mark.contract("R4", "R5", "X8")
@pytest.mark.parametrize("path", ADMIN)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_administration_routes_are_not_on_client_ports(half, method, path):
    """CWE-288 (CVE-2026-24207, -47481: protection of one route). Guard: the REST server has only the
    API's paths and, with --monitoring_config_file, the path of the metrics, which it compares byte by byte. All other
    routes are on the administration listener."""
    answer = send_raw(half, f"{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
    assert status(answer) in (400, 404)
    assert b"# TYPE" not in answer and b"models" not in answer.split(b"\r\n\r\n", 1)[1].replace(path.encode(), b"")


# --------------------------------------------------------------------------------------------------------- Error texts

def wrong_requests(node):
    yield from (request(node.model, x=floats([1 << 30])), request("x" * 3000, x=X), request(node.model, "s" * 3000, x=X),
                request(node.model, **{"z" * 3000: X}), request(node.model, x=np.zeros([1, 1, 1, 1], np.float64)),
                request(node.model, x=np.array([b"secret"])), request(node.model, version=-1, x=X))


@pytest.mark.contract("G12", "J10", "X9")
def test_errors_are_short_and_reveal_nothing_about_the_machine(half, tmp_path):
    """CWE-209 (CVE-2025-23320, CVE-2026-22778: shared memory names and addresses in error texts). Guards: grpc_server's EncodeMessage cuts long texts;
    BoundedWriter shows at most 256 bytes of a body."""
    texts = [call_error(half.predictions.Predict, proto)[1] for proto in wrong_requests(half)]
    for body in ("{", "x" * 100_000, json.dumps({"inputs": "x" * 100_000}), '{"instances": [{"' + "k" * 50_000 + '": 1}]}',
                 '{"inputs": [[1], 2]}', "\xff\xfe", '{"instances": ["' + "\\u0001" * 50_000 + '"]}'):
        texts.append(half.rest(HALF + ":predict", body)[1])
    texts += [send_raw(half, b"GET /v1/models/" + path + b" HTTP/1.0\r\n\r\n").decode(errors="replace")
              for path in (b"../../etc/passwd", b"%ff%fe", b"x" * 30_000)]
    for text in texts:
        assert len(text) <= 1024 + len("...TRUNCATED") or "Malformed request" in text or "Servable not found" in text or (
            "Could not find" in text), text[:200]
        for word in (str(tmp_path), str(MODELS), os.fspath(BINARY), "0x7f", ".cc:", "terminate", "std::"):
            assert word not in text


# -------------------------------------------------------------------------------------------------- Races, exceptions

@pytest.mark.contract("G11", "L13")
def test_cancelled_calls_and_unloaded_versions_do_no_harm(tmp_path):
    """CWE-362, -415 (CVE-2025-23322: a call cancelled before it ran is freed twice). Guard: Call finishes only
    once, by its cancellation or by its answer."""
    folder = tmp_path / "models"
    shutil.copytree(MODELS / "half_plus_two_tf1", folder)
    with running_node(tmp_path, "half_plus_two_tf1", folder, "--file_system_poll_wait_seconds=0.05",
                      "--simulated_run_ms=2") as node:
        node.serving()
        stop = threading.Event()

        def cancel(seed: int) -> None:
            random = np.random.default_rng(seed)
            while not stop.is_set():
                calls = [node.predictions.Predict.future(request(node.model, x=X), timeout=SECONDS) for _ in range(8)]
                for call in random.permutation(calls)[:6]:
                    call.cancel()
                for call in calls:
                    call.exception() if not call.cancelled() else None
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            cancelling = [pool.submit(cancel, seed) for seed in range(4)]
            try:
                for version in range(2, 12):
                    shutil.copytree(MODELS / "half_plus_two_tf1" / "1", tmp_path / "next")
                    os.rename(tmp_path / "next", folder / str(version))
                    node.until(lambda: any(one.version == version and one.state == 30 for one in node.statuses()) or None)
                    shutil.rmtree(folder / str(version - 1))
            finally:
                stop.set()
            for future in cancelling:
                future.result(SECONDS)
        assert still_serves(node)


@pytest.mark.contract("X10")
def test_a_failed_allocation_in_a_run_fails_only_its_request(tmp_path):
    """CWE-248 (CVE-2026-24175, -47480: an exception through a callback ends the process). Guard: Model::Run catches the
    exceptions of the memory allocator."""
    Exploding().export(tmp_path / "model" / "1")
    with running_node(tmp_path, "exploding", tmp_path / "model", "--run_memory_bytes_max=1000000000000") as node:
        node.serving()
        with open(f"/proc/{node.process.pid}/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.prlimit(node.process.pid, resource.RLIMIT_AS, (now + 256 * MIB, now + 256 * MIB))
        code, text = call_error(node.predictions.Predict, request(node.model, "fill", n=tf.constant(1_500_000)))
        assert (code, text) == (EXHAUSTED, 'memory does not suffice for a run of signature "fill"')
        answer = predict(node, request(node.model, "fill", n=tf.constant(10)))
        assert tf.make_ndarray(answer.outputs["y"]) == 10_000


@pytest.mark.contract("X10")
def test_a_failed_allocation_for_a_body_fails_only_its_request(tmp_path):
    """CWE-248 over REST (an exception on a thread of the HTTP server). Guard: Connection::Guarded."""
    with running_node(tmp_path, "half_plus_two_tf1", MODELS / "half_plus_two_tf1") as node:
        node.serving()
        with open(f"/proc/{node.process.pid}/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        before = resource.prlimit(node.process.pid, resource.RLIMIT_AS, (now + 64 * MIB, -1))
        answer = send_raw(node, post(b'{"instances": [2.0]}'.ljust(200 * MIB)))
        assert status(answer) == 503 and answer.endswith(b"memory does not suffice for this request\n")
        assert still_serves(node)
        resource.prlimit(node.process.pid, resource.RLIMIT_AS, before)


@pytest.mark.contract("X10", "R12")
@pytest.mark.parametrize("bytes_sent, wanted", [
    (b"GET /v1/models/%zz HTTP/1.1\r\n\r\n", {400, 404}), (b"GET /v1/models/%ff%00 HTTP/1.1\r\n\r\n", {400, 404}),
    (b"GET / HTTP/1.1\r\n\xff\xfe: \x01\r\n\r\n", {400}), (b"GET / HTTP/9.9\r\n\r\n", {400}), (b"\x16\x03\x01\x02\x00", {400}),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}), (b"GET / HTTP/1.1\r\nA: " + b"x" * 100_000 + b"\r\n\r\n", {431}),
    (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1000 + b"\r\n", {431}),
    (post(b"1", "Content-Length: 1", "Content-Length: 2"), {400}),
    (post(b"0\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked"), {400}),
    (post(b"1", "Content-Length: -1"), {400}), (post(b"1", "Content-Length: 99999999999999999999999"), {400, 413}),
    (post(b"1", "Content-Length: 8388609"), {413}), (post(b"1", "Content-Encoding: gzip"), {400})],
    ids=["bad escape", "zero byte", "bytes in a header", "version", "TLS", "HTTP/2", "long header", "many headers",
         "two lengths", "length and chunks", "negative length", "huge length", "too long", "not gzip"])
def test_a_malformed_request_is_rejected_and_the_next_one_is_answered(half, bytes_sent, wanted):
    """CWE-20, -248 (CVE-2026-24175: a malformed header). Guard: RequestReader::ToRefusal turns errors of the parser into answers."""
    assert status(send_raw(half, bytes_sent)) in wanted
    assert still_serves(half)


@pytest.mark.contract("X10")
@pytest.mark.parametrize("name, value", [("x-bin", b"\xff\x00"), ("x", "a" * 30_000), ("x-longshore-version", "z"),
                                         ("traceparent", "  ~")])
def test_unusual_metadata_of_a_call_does_no_harm(half, name, value):
    """CWE-20 over gRPC. Guard: the node compares metadata byte by byte and does not parse it."""
    answer = half.predictions.Predict(request(half.model, x=X), timeout=SECONDS, metadata=[(name, value)])
    np.testing.assert_array_equal(tf.make_ndarray(answer.outputs["y"]), [3])
