"""The lifecycle of versions: how they are found, loaded, replaced and unloaded."""

import contextlib
import ctypes
import itertools
import json
import mmap
import os
import pathlib
import shutil
import threading

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, call_error, predict, request, run_node
from config_test import HALF, IMAGE, X, model, models, reload, reload_error, serving, versions, wait_for
from serving import running_node
from tensorflow_serving.apis import get_model_status_pb2

HALF_PLUS_TWO = MODELS / "half_plus_two_tf1" / "1"
ALL = "model_version_policy { all {} }"
QUICK = "--file_system_poll_wait_seconds=0.02"


def copy(to: pathlib.Path, source: pathlib.Path = HALF_PLUS_TWO) -> None:
    shutil.copytree(source, to)


@pytest.mark.contract("L1")
def test_directories_named_by_numbers_are_versions(tmp_path):
    for name in ("7", "00000123", "9223372036854775807", "9223372036854775808", "-3", "latest", "5x", " 6", "+8", "0x9", "1.0"):
        copy(tmp_path / "m" / name)
    (tmp_path / "m" / "11").write_text("not a directory")
    with serving(tmp_path, models(model("m", tmp_path / "m", ALL)), QUICK) as (node, _):
        wait_for(node, "m", [7, 123, 2**63 - 1])
        assert predict(node, request("m", version=123, x=X)).model_spec.version.value == 123
        assert predict(node, request("m", x=X)).model_spec.version.value == 2**63 - 1


@pytest.mark.contract("L4")
def test_of_several_names_of_a_number_the_one_without_zeros_is_used(tmp_path):
    copy(tmp_path / "m" / "7")
    for name in ("007", "0007"):
        copy(tmp_path / "m" / name, MODELS / "digits" / "1")
    with serving(tmp_path, models(model("m", tmp_path / "m", ALL)), QUICK) as (node, _):
        wait_for(node, "m", [7])
        assert predict(node, request("m", x=X)).outputs["y"].float_val == [3]


@pytest.mark.contract("L5")
def test_an_empty_base_path_unloads_its_versions_and_a_missing_one_changes_nothing(tmp_path):
    for name in ("a", "b"):
        copy(tmp_path / name / "1")
    with serving(tmp_path, models(model("a", tmp_path / "a"), model("b", tmp_path / "b")), QUICK) as (node, _):
        for name in ("a", "b"):
            wait_for(node, name, [1])
        (tmp_path / "b").rename(tmp_path / "away")
        copy(tmp_path / "a" / "2")
        wait_for(node, "a", [2])
        assert predict(node, request("b", x=X)).model_spec.version.value == 1
        shutil.rmtree(tmp_path / "a" / "2")
        shutil.rmtree(tmp_path / "a" / "1")
        wait_for(node, "a", [])
        assert call_error(node.predictions.Predict, request("a", x=X)) == (
            grpc.StatusCode.NOT_FOUND, "Servable not found for request: Latest(a)")
        status, body = node.rest("/v1/models/a:predict", json.dumps({"instances": [2.0]}))
        assert status == 404 and json.loads(body)["error"] == "Servable not found for request: Latest(a)"
        assert predict(node, request("b", x=X)).model_spec.version.value == 1


class PollClock:
    """Waits for polls of the file system: a new version of another model is loaded only after two polls."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.count = folder, 0
        self.add()

    def add(self) -> None:
        self.count += 1
        copy(self.folder / str(self.count))

    def wait_for_polls(self, node) -> None:
        self.add()
        wait_for(node, "clock", [self.count])


@pytest.mark.contract("L6")
def test_a_version_is_not_loaded_before_it_is_complete_in_any_order_of_its_files(tmp_path):
    source = MODELS / "digits" / "2"
    files = ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"]
    orders = {f"m{i}": order for i, order in enumerate(itertools.permutations(files))}
    for name in orders:
        (tmp_path / name / "1" / "variables").mkdir(parents=True)
    polls = PollClock(tmp_path / "clock")
    config = models(*(model(name, tmp_path / name) for name in orders), model("clock", tmp_path / "clock"))
    with serving(tmp_path, config, QUICK) as (node, _):
        wait_for(node, "clock", [1])
        for step, half in itertools.product(range(len(files)), range(2)):
            for name, order in orders.items():
                whole = (source / order[step]).read_bytes()
                cut = len(whole) // 2
                with open(tmp_path / name / "1" / order[step], "ab") as file:
                    file.write(whole[cut:] if half else whole[:cut])
            if (step, half) != (len(files) - 1, 1):
                polls.wait_for_polls(node)
                assert {name: versions(node, name) for name in orders} == {name: [] for name in orders}
        for name in orders:
            wait_for(node, name, [1])
            assert len(predict(node, request(name, image=IMAGE)).outputs["label"].int64_val) == 1


def states(node, name: str) -> dict[int, str]:
    proto = get_model_status_pb2.GetModelStatusRequest()
    proto.model_spec.name = name
    seen = node.models.GetModelStatus(proto, timeout=SECONDS).model_version_status
    return {one.version: get_model_status_pb2.ModelVersionStatus.State.Name(one.state) for one in seen}


@contextlib.contextmanager
def node_changing_version_during_a_request(tmp_path, transition: str):
    """A node whose configuration changes digits from version 1 to 2 during a request of two seconds on version 1."""
    def only(version: int) -> str:
        return models(model("digits", MODELS / "digits", f"model_version_policy {{ specific {{ versions: {version} }} }}"))
    flags = (f"--version_transition={transition}", "--model_config_file_poll_wait_seconds=0.02", "--simulated_run_ms=2000",
             "--enable_model_warmup=false")
    with serving(tmp_path, only(1), *flags) as (node, file):
        wait_for(node, "digits", [1])
        running = node.predictions.Predict.future(request("digits", image=IMAGE), timeout=SECONDS)
        node.until(lambda: node.admin_json("/debug/state")["load"]["running"] or None)
        file.write_text(only(2))
        node.until(lambda: states(node, "digits").get(1) == "UNLOADING" or None)
        yield node, running
        assert running.result().model_spec.version.value == 1
        wait_for(node, "digits", [2])


@pytest.mark.contract("L7", "L13")
def test_with_resource_the_old_version_is_unloaded_before_the_new_one_is_loaded(tmp_path):
    with node_changing_version_during_a_request(tmp_path, "resource") as (node, running):
        assert states(node, "digits") == {1: "UNLOADING", 2: "START"}
        assert call_error(node.predictions.Predict, request("digits", image=IMAGE)) == (
            grpc.StatusCode.NOT_FOUND, "Servable not found for request: Latest(digits)")
        assert not running.done()


@pytest.mark.contract("L7", "L13")
def test_with_availability_the_new_version_answers_before_the_old_one_is_unloaded(tmp_path):
    with node_changing_version_during_a_request(tmp_path, "availability") as (node, running):
        assert states(node, "digits") == {1: "UNLOADING", 2: "AVAILABLE"}
        assert not running.done()


def estimated_memory(path: pathlib.Path) -> int:
    """The node's estimate: 1.2 times the size of the files."""
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return size + size // 5


@pytest.mark.contract("L16", "L10")
def test_a_version_that_exceeds_the_memory_limit_loads_after_another_is_unloaded(tmp_path):
    digits = model("digits", MODELS / "digits")
    half, five = estimated_memory(HALF_PLUS_TWO), estimated_memory(MODELS / "digits" / "5")
    limit = half + five - 1
    with serving(tmp_path, models(HALF), f"--model_memory_bytes_max={limit}") as (node, _):
        wait_for(node, "half", [1])
        with pytest.raises(grpc.RpcError) as caught:
            reload(node, models(HALF, digits), 1)
        assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED  # The node is still trying to load it.
        proto = get_model_status_pb2.GetModelStatusRequest()
        proto.model_spec.name = "digits"
        status = node.models.GetModelStatus(proto, timeout=SECONDS).model_version_status[0].status
        assert status.error_code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
        assert status.error_message == (f'model "digits" version 5 needs about {five} bytes of memory; of the limit of {limit} bytes, '
                                        f"{half} are reserved")
        assert predict(node, request("half", x=X)).model_spec.version.value == 1
        reload(node, models(digits))
        assert predict(node, request("digits", image=IMAGE)).model_spec.version.value == 5


def cached_pages(file: pathlib.Path) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    with open(file, "r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        held = ctypes.create_string_buffer(-(-len(mapped) // mmap.PAGESIZE))
        assert libc.mincore(ctypes.addressof(ctypes.c_char.from_buffer(mapped)), len(mapped), held) == 0
        return sum(page & 1 for page in held.raw)


@pytest.mark.contract("F9")
@pytest.mark.parametrize("flag, kept", [("--flush_filesystem_caches=false", True), ("--flush_filesystem_caches", False),
                                        ("--log_level=info", False)])
def test_files_are_removed_from_the_page_cache_after_a_load(tmp_path, flag, kept):
    copy(tmp_path / "digits" / "1", MODELS / "digits" / "5")
    data = tmp_path / "digits/1/variables/variables.data-00000-of-00001"
    with open(data, "rb") as file:
        os.fsync(file.fileno())  # Dirty pages cannot be removed from the page cache.
    with running_node(tmp_path, "digits", tmp_path / "digits", QUICK, flag) as node:
        node.serving()
        assert (cached_pages(data) > 0) == kept


def background_threads(tmp_path, *flags: str) -> int:
    """The number of threads for loading and unloading, which have a lower priority than the others."""
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1", *flags) as node:
        node.serving()
        return sum(os.getpriority(os.PRIO_PROCESS, int(thread)) > os.getpriority(os.PRIO_PROCESS, node.process.pid)
                   for thread in os.listdir(f"/proc/{node.process.pid}/task"))


@pytest.mark.contract("F6")
def test_flags_set_the_number_of_threads_for_loading_and_unloading(tmp_path):
    few = background_threads(tmp_path)
    assert background_threads(tmp_path, "--num_load_threads=5") == few + 3
    assert background_threads(tmp_path, "--num_unload_threads=5") == few + 4
    done = run_node("--model_base_path=/m", "--num_load_threads=-1")
    assert done.returncode != 0 and "--num_load_threads" in done.stdout + done.stderr


@pytest.mark.contract("F8", "L3")
@pytest.mark.parametrize("retries, interval_micros, state", [(0, 3_600_000_000, "END"), (1, 3_600_000_000, "START"), (2, 1000, "END")])
def test_a_failed_load_is_retried_as_often_as_the_flags_say(tmp_path, retries, interval_micros, state):
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "saved_model.pb").write_bytes(b"not a model")
    flags = (f"--max_num_load_retries={retries}", f"--load_retry_interval_micros={interval_micros}", QUICK)
    with running_node(tmp_path, "m", tmp_path / "m", *flags) as node:
        assert "saved_model.pb" in node.refusal()
        node.until(lambda: states(node, "m") == {1: state} or None)


@pytest.mark.contract("F8")
def test_a_flag_sets_how_often_new_versions_are_searched(tmp_path):
    copy(tmp_path / "once" / "1")
    copy(tmp_path / "often" / "1")
    (tmp_path / "first").mkdir()
    with running_node(tmp_path / "first", "m", tmp_path / "once", "--file_system_poll_wait_seconds=0") as once:
        once.serving()
        copy(tmp_path / "once" / "2")
        copy(tmp_path / "often" / "2")
        with running_node(tmp_path, "m", tmp_path / "often", QUICK) as often:
            wait_for(often, "m", [2])
        assert versions(once, "m") == [1]


@pytest.mark.contract("L14")
def test_a_waiting_reload_ends_when_the_node_shuts_down(tmp_path):
    broken = tmp_path / "broken" / "1"
    broken.mkdir(parents=True)
    (broken / "saved_model.pb").write_bytes(b"not a model")
    refused = []
    # The next attempt to load the broken model is an hour later; without the shutdown the reload would wait for it.
    with serving(tmp_path, models(HALF), "--load_retry_interval_micros=3600000000") as (node, _):
        wait_for(node, "half", [1])
        text = models(HALF, model("broken", tmp_path / "broken"))
        waiting = threading.Thread(target=lambda: refused.append(reload_error(node, text, 10 * SECONDS)))
        waiting.start()
        node.logs('model "broken" version 1 failed to load')
        node.process.terminate()
        waiting.join(SECONDS)
        assert refused == [(grpc.StatusCode.UNAVAILABLE, "the node is shutting down")]
        assert node.process.wait(SECONDS) == 0


@pytest.mark.contract("L15")
def test_a_request_during_the_first_load_waits_for_it(tmp_path):
    # A thousand repetitions of the warm-up make the load slow enough for a request during it.
    with running_node(tmp_path, "digits", MODELS / "digits", "--num_request_iterations_for_warmup=1000") as node:
        assert node.admin_json("/debug/state")["not_ready"]
        status, body = node.rest("/v1/models/digits:predict", json.dumps({"instances": [np.zeros((8, 8, 1)).tolist()]}))
        assert status == 200, body


@pytest.mark.contract("L15", "L10")
def test_requests_do_not_wait_for_a_model_that_fails_to_load(tmp_path):
    broken = tmp_path / "broken" / "1"
    broken.mkdir(parents=True)
    (broken / "saved_model.pb").write_bytes(b"not a model")
    with serving(tmp_path, models(HALF, model("broken", broken.parent))) as (node, _):
        assert node.rest("/v1/models/half:predict", json.dumps({"instances": [2.0]}))[0] == 200
        assert call_error(node.predictions.Predict, request("broken", x=X)) == (
            grpc.StatusCode.NOT_FOUND, "Servable not found for request: Latest(broken)")


@pytest.mark.contract("L15")
def test_the_ports_open_after_a_newly_written_version_is_loaded(tmp_path):
    """As TensorFlow Serving's ServerCore::AddModelsViaModelConfigList, which waits for the models before the server listens."""
    (tmp_path / "m").mkdir()
    shutil.copytree(HALF_PLUS_TWO, tmp_path / "m" / "1", copy_function=shutil.copy)  # Not its modification times.
    with running_node(tmp_path, "m", tmp_path / "m", "--file_system_poll_wait_seconds=3600") as node:
        assert predict(node, request("m", x=X)).outputs["y"].float_val == [3]


@pytest.mark.contract("L15")
def test_the_ports_open_although_a_version_changes_all_the_time(tmp_path):
    copy(tmp_path / "m" / "1")
    ended = threading.Event()

    def write() -> None:
        while not ended.wait(0.01):
            (tmp_path / "m" / "1" / "more.txt").open("a").write("x")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        # The version must have changed at each check, even if the writer is slow.
        with serving(tmp_path, models(HALF, model("m", tmp_path / "m")), "--file_system_poll_wait_seconds=0.4") as (node, _):
            assert node.rest("/v1/models/half:predict", json.dumps({"instances": [2.0]}))[0] == 200
            assert call_error(node.predictions.Predict, request("m", x=X))[0] == grpc.StatusCode.NOT_FOUND
    finally:
        ended.set()
        writer.join()
