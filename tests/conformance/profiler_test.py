"""ProfilerService, by which TensorFlow's clients and TensorBoard record what the runs of a node do."""

import subprocess
import sys

import grpc
import numpy as np
import pytest
import tensorflow as tf
from auth_test import WEB
from calls import MODELS, SECONDS
from serving import running_node
from tensorflow.tsl.profiler.protobuf import xplane_pb2

IMAGES = np.fromfile(MODELS / "digits/traffic.f32", "<f4").reshape(-1, 8, 8, 1)[:2]
CONTENTION = "Another profiling session active."


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with running_node(tmp_path_factory.mktemp("digits"), "digits", MODELS / "digits") as started:
        yield started.serving()


def field(number: int, content: bytes) -> bytes:
    """A field of a message in the wire format; the package of TensorFlow has no Python messages of ProfilerService."""
    assert number < 16 and len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def duration(ms: int) -> bytes:
    return field(4, bytes([9 << 3]) + varint(ms))  # opts.duration_ms of a ProfileRequest.


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def call(node, method: str, message: bytes = b"", token: str | None = None) -> bytes:
    head = [("authorization", f"Bearer {token}")] if token else []
    return node.channel.unary_unary(f"/tensorflow.ProfilerService/{method}")(message, timeout=SECONDS, metadata=head)


def error_of(node, method: str, message: bytes = b"", token: str | None = None) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call(node, method, message, token)
    return caught.value.code(), caught.value.details()


def until_refused(node) -> tuple[grpc.StatusCode, str]:
    """Returns the error of a second session, once the first one has begun."""
    while True:
        try:
            call(node, "Profile")
        except grpc.RpcError as error:
            return error.code(), error.details()


# In a program of its own, because this client keeps the other threads of its program from running.
CLIENT = "import sys, tensorflow as tf; tf.profiler.experimental.client.trace(sys.argv[1], sys.argv[2], 300)"


def profile(node, logdir) -> xplane_pb2.XSpace:
    """Sends requests while TensorFlow's client records a profile, and returns what the client wrote."""
    before = node.predict({"image": IMAGES})
    address = f"grpc://127.0.0.1:{node.grpc_port}"
    with subprocess.Popen([sys.executable, "-c", CLIENT, address, str(logdir)], stderr=subprocess.DEVNULL) as client:
        while client.poll() is None:
            for name, value in node.predict({"image": IMAGES}).items():
                np.testing.assert_array_equal(value, before[name])
    assert client.returncode == 0
    [file] = logdir.glob(f"plugins/profile/*/127.0.0.1_{node.grpc_port}.xplane.pb")
    return xplane_pb2.XSpace.FromString(file.read_bytes())


def stats_of(plane, event) -> dict[str, object]:
    def value(stat):
        field = stat.WhichOneof("value")
        return plane.stat_metadata[stat.ref_value].name if field == "ref_value" else getattr(stat, field)
    return {plane.stat_metadata[stat.metadata_id].name: value(stat) for stat in event.stats}


@pytest.mark.contract("P1")
def test_the_client_of_tensorflow_writes_a_profile_with_the_ops_of_each_run(node, tmp_path):
    space = profile(node, tmp_path)
    [host] = [plane for plane in space.planes if plane.name == "/host:CPU"]
    [line] = [line for line in host.lines if line.name == "digits version 5, runs 1"]
    names = [host.event_metadata[event.metadata_id].name for event in line.events]
    assert names.count("SessionRun") >= 1
    run = line.events[names.index("SessionRun")]
    ops = [event for event, name in zip(line.events, names, strict=True)
           if name.endswith(":Conv2D") and event.offset_ps < run.offset_ps + run.duration_ps]
    assert len(ops) >= 1
    assert all(run.offset_ps <= op.offset_ps and op.offset_ps + op.duration_ps <= run.offset_ps + run.duration_ps for op in ops)
    assert stats_of(host, run)["inputs"] == "image DT_FLOAT [2,8,8,1]"
    assert stats_of(host, ops[0])["output"].startswith("DT_FLOAT [2,8,8,")
    assert stats_of(host, ops[0])["output_bytes"] > 0
    memory = [event for line in host.lines if line.name == "digits version 5, memory" for event in line.events]
    assert max(stats_of(host, event)["bytes_allocated"] for event in memory) > 0


@pytest.mark.contract("P1")
def test_a_node_without_traffic_returns_a_profile_too(node, tmp_path):
    tf.profiler.experimental.client.trace(f"grpc://127.0.0.1:{node.grpc_port}", str(tmp_path), 10, num_tracing_attempts=1)
    assert len(list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))) == 1


@pytest.mark.contract("P1", "X6")
def test_the_node_writes_no_file_for_a_profile(node, tmp_path):
    root = str(tmp_path).encode()
    assert b"xplane.pb" in call(node, "Profile", field(5, root) + field(6, b"s") + field(7, b"host"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.contract("P1")
def test_the_answer_has_the_profile_itself_if_the_client_wants_that(node):
    emit_xspace = bytes([9 << 3, 1])
    answer = call(node, "Profile", emit_xspace)
    assert b"/host:CPU" in answer and b"xplane.pb" not in answer


@pytest.mark.contract("P2", "P3")
def test_a_second_session_is_refused_and_terminate_ends_the_first_one(node):
    minute = duration(60_000) + field(6, b"first")
    first = node.channel.unary_unary("/tensorflow.ProfilerService/Profile").future(minute, timeout=SECONDS)
    assert until_refused(node) == (grpc.StatusCode.INTERNAL, CONTENTION)
    call(node, "Terminate", field(1, b"another"))
    assert not first.done()
    call(node, "Terminate", field(1, b"first"))
    assert b"xplane.pb" in first.result()


@pytest.mark.contract("P2")
def test_the_administration_port_and_the_service_share_one_recording(node):
    first = node.channel.unary_unary("/tensorflow.ProfilerService/Profile").future(duration(60_000), timeout=SECONDS)
    until_refused(node)
    assert node.admin_json("/debug/profile/state")["state"] == "recording"
    first.cancel()
    node.until(lambda: node.admin_json("/debug/profile/state")["state"] == "done" or None)


@pytest.mark.contract("P2")
def test_a_profile_of_more_than_five_minutes_is_refused(node):
    code, text = error_of(node, "Profile", duration(300_001))
    assert code == grpc.StatusCode.INVALID_ARGUMENT and "300001 ms" in text and "300000 ms" in text


@pytest.mark.contract("P3")
@pytest.mark.parametrize("method", ["Monitor", "StartContinuousProfiling", "StopContinuousProfiling", "GetSnapshot"])
def test_the_other_methods_are_not_implemented(node, method):
    assert error_of(node, method)[0] == grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.contract("P4")
def test_the_service_can_be_disabled(tmp_path):
    with running_node(tmp_path, "digits", MODELS / "digits", "--enable_profiler=false") as node:
        node.serving()
        assert error_of(node, "Profile")[0] == grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.contract("P4", "S14")
def test_a_profile_needs_a_token_with_the_scope_admin(tmp_path):
    reader = "reader-0123456789abcdef"
    (tmp_path / "tokens").write_text(f"web {WEB}\nreader {reader} predict\n")
    with running_node(tmp_path, "digits", MODELS / "digits", f"--auth_tokens_file={tmp_path}/tokens") as node:
        node.ready()
        for method in ("Profile", "Terminate"):
            assert error_of(node, method)[0] == grpc.StatusCode.UNAUTHENTICATED
            assert error_of(node, method, token=reader)[0] == grpc.StatusCode.PERMISSION_DENIED
            call(node, method, token=WEB)
