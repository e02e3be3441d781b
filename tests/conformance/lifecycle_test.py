"""The life of versions: how they are found, loaded, swapped and let go."""

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
from calls import MODELS, SECONDS, predict, refusal, request, run_node
from config_test import HALF, IMAGE, X, model, models, reload, reload_refusal, serving, versions, wait_for
from serving import running_node
from tensorflow_serving.apis import get_model_status_pb2

HALF_PLUS_TWO = MODELS / "half_plus_two_tf1" / "1"
ALL = "model_version_policy { all {} }"
QUICK = "--file_system_poll_wait_seconds=0.02"


def copy(to: pathlib.Path, source: pathlib.Path = HALF_PLUS_TWO) -> None:
    shutil.copytree(source, to)


@pytest.mark.contract("L1")
def test_children_that_are_numbers_are_versions(tmp_path):
    for name in ("7", "00000123", "9223372036854775807", "9223372036854775808", "-3", "latest", "5x", " 6", "+8", "0x9", "1.0"):
        copy(tmp_path / "m" / name)
    (tmp_path / "m" / "11").write_text("no directory")
    with serving(tmp_path, models(model("m", tmp_path / "m", ALL)), QUICK) as (node, _):
        wait_for(node, "m", [7, 123, 2**63 - 1])
        assert predict(node, request("m", version=123, x=X)).model_spec.version.value == 123
        assert predict(node, request("m", x=X)).model_spec.version.value == 2**63 - 1


@pytest.mark.contract("L4")
def test_of_two_names_of_a_number_the_plain_one_is_taken(tmp_path):
    copy(tmp_path / "m" / "7")
    for name in ("007", "0007"):
        copy(tmp_path / "m" / name, MODELS / "digits" / "1")
    with serving(tmp_path, models(model("m", tmp_path / "m", ALL)), QUICK) as (node, _):
        wait_for(node, "m", [7])
        assert predict(node, request("m", x=X)).outputs["y"].float_val == [3]


@pytest.mark.contract("L5")
def test_an_empty_base_path_unloads_and_a_missing_one_touches_nothing(tmp_path):
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
        assert refusal(node.predictions.Predict, request("a", x=X)) == (
            grpc.StatusCode.NOT_FOUND, "Servable not found for request: Latest(a)")
        status, body = node.rest("/v1/models/a:predict", json.dumps({"instances": [2.0]}))
        assert status == 404 and json.loads(body)["error"] == "Servable not found for request: Latest(a)"
        assert predict(node, request("b", x=X)).model_spec.version.value == 1


class Polls:
    """Lets some looks at the files pass: a version of another model that comes has been looked at twice."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.count = folder, 0
        self.add()

    def add(self) -> None:
        self.count += 1
        copy(self.folder / str(self.count))

    def pass_by(self, node) -> None:
        self.add()
        wait_for(node, "clock", [self.count])


@pytest.mark.contract("L6")
def test_a_version_is_not_loaded_before_it_is_whole_in_whatever_order_its_files_come(tmp_path):
    source = MODELS / "digits" / "2"
    files = ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"]
    orders = {f"m{i}": order for i, order in enumerate(itertools.permutations(files))}
    for name in orders:
        (tmp_path / name / "1" / "variables").mkdir(parents=True)
    polls = Polls(tmp_path / "clock")
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
                polls.pass_by(node)
                assert {name: versions(node, name) for name in orders} == {name: [] for name in orders}
        for name in orders:
            wait_for(node, name, [1])
            assert len(predict(node, request(name, image=IMAGE)).outputs["label"].int64_val) == 1


def states(node, name: str) -> dict[int, str]:
    made = get_model_status_pb2.GetModelStatusRequest()
    made.model_spec.name = name
    seen = node.models.GetModelStatus(made, timeout=SECONDS).model_version_status
    return {one.version: get_model_status_pb2.ModelVersionStatus.State.Name(one.state) for one in seen}


@contextlib.contextmanager
def swapped_during_a_request(tmp_path, transition: str):
    """A node that is told to change digits from 1 to 2 while a request of two seconds runs on 1."""
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
def test_where_memory_is_scarce_the_old_version_is_gone_before_the_new_one_is_loaded(tmp_path):
    with swapped_during_a_request(tmp_path, "resource") as (node, running):
        assert states(node, "digits") == {1: "UNLOADING", 2: "START"}
        assert refusal(node.predictions.Predict, request("digits", image=IMAGE)) == (
            grpc.StatusCode.NOT_FOUND, "Servable not found for request: Latest(digits)")
        assert not running.done()


@pytest.mark.contract("L7", "L13")
def test_otherwise_the_new_version_answers_before_the_old_one_goes(tmp_path):
    with swapped_during_a_request(tmp_path, "availability") as (node, running):
        assert states(node, "digits") == {1: "UNLOADING", 2: "AVAILABLE"}
        assert not running.done()


def needed(path: pathlib.Path) -> int:
    """As the node estimates it: 1.2 times the bytes of the files."""
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return size + size // 5


@pytest.mark.contract("L16", "L10")
def test_a_version_that_does_not_fit_into_memory_is_refused_until_another_is_gone(tmp_path):
    digits = model("digits", MODELS / "digits")
    half, five = needed(HALF_PLUS_TWO), needed(MODELS / "digits" / "5")
    limit = half + five - 1
    with serving(tmp_path, models(HALF), f"--model_memory_bytes_max={limit}") as (node, _):
        wait_for(node, "half", [1])
        with pytest.raises(grpc.RpcError) as caught:
            reload(node, models(HALF, digits), 1)
        assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED  # Further attempts are to come.
        made = get_model_status_pb2.GetModelStatusRequest()
        made.model_spec.name = "digits"
        status = node.models.GetModelStatus(made, timeout=SECONDS).model_version_status[0].status
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
def test_the_systems_cache_forgets_the_files_after_a_load(tmp_path, flag, kept):
    copy(tmp_path / "digits" / "1", MODELS / "digits" / "5")
    data = tmp_path / "digits/1/variables/variables.data-00000-of-00001"
    with open(data, "rb") as file:
        os.fsync(file.fileno())  # What is not on the disk yet cannot be forgotten.
    with running_node(tmp_path, "digits", tmp_path / "digits", QUICK, flag) as node:
        node.serving()
        assert (cached_pages(data) > 0) == kept


def background_threads(tmp_path, *flags: str) -> int:
    """Those that load and unload, which yield to the others; gRPC's come and go."""
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1", *flags) as node:
        node.serving()
        return sum(os.getpriority(os.PRIO_PROCESS, int(thread)) > os.getpriority(os.PRIO_PROCESS, node.process.pid)
                   for thread in os.listdir(f"/proc/{node.process.pid}/task"))


@pytest.mark.contract("F6")
def test_versions_are_loaded_and_unloaded_on_as_many_threads_as_the_flags_say(tmp_path):
    few = background_threads(tmp_path)
    assert background_threads(tmp_path, "--num_load_threads=5") == few + 3
    assert background_threads(tmp_path, "--num_unload_threads=5") == few + 4
    done = run_node("--model_base_path=/m", "--num_load_threads=-1")
    assert done.returncode != 0 and "--num_load_threads" in done.stdout + done.stderr


@pytest.mark.contract("F8", "L3")
@pytest.mark.parametrize("retries, interval_micros, state", [(0, 3_600_000_000, "END"), (1, 3_600_000_000, "START"), (2, 1000, "END")])
def test_a_load_that_failed_is_tried_again_as_often_as_the_flags_say(tmp_path, retries, interval_micros, state):
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "saved_model.pb").write_bytes(b"no model")
    flags = (f"--max_num_load_retries={retries}", f"--load_retry_interval_micros={interval_micros}", QUICK)
    with running_node(tmp_path, "m", tmp_path / "m", *flags) as node:
        assert "saved_model.pb" in node.refusal()
        node.until(lambda: states(node, "m") == {1: state} or None)


@pytest.mark.contract("F8")
def test_new_versions_are_looked_for_as_often_as_the_flag_says(tmp_path):
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
def test_a_reload_that_waits_ends_when_the_node_leaves(tmp_path):
    broken = tmp_path / "broken" / "1"
    broken.mkdir(parents=True)
    (broken / "saved_model.pb").write_bytes(b"no model")
    refused = []
    # The broken model has an hour until its next attempt, so its reload would wait for as long.
    with serving(tmp_path, models(HALF), "--load_retry_interval_micros=3600000000") as (node, _):
        wait_for(node, "half", [1])
        text = models(HALF, model("broken", tmp_path / "broken"))
        waits = threading.Thread(target=lambda: refused.append(reload_refusal(node, text, 10 * SECONDS)))
        waits.start()
        node.logs('model "broken" version 1 failed to load')
        node.process.terminate()
        waits.join(SECONDS)
        assert refused == [(grpc.StatusCode.UNAVAILABLE, "the node is shutting down")]
        assert node.process.wait(SECONDS) == 0


@pytest.mark.contract("L15")
def test_who_comes_before_the_first_load_has_ended_waits_for_it(tmp_path):
    # The warm-up of digits, a thousand times over, makes the load long enough to come before its end.
    with running_node(tmp_path, "digits", MODELS / "digits", "--num_request_iterations_for_warmup=1000") as node:
        assert node.admin_json("/debug/state")["not_ready"]
        status, body = node.rest("/v1/models/digits:predict", json.dumps({"instances": [np.zeros((8, 8, 1)).tolist()]}))
        assert status == 200, body


@pytest.mark.contract("L15", "L10")
def test_a_model_that_fails_to_load_keeps_nobody_waiting(tmp_path):
    broken = tmp_path / "broken" / "1"
    broken.mkdir(parents=True)
    (broken / "saved_model.pb").write_bytes(b"no model")
    with serving(tmp_path, models(HALF, model("broken", broken.parent))) as (node, _):
        assert node.rest("/v1/models/half:predict", json.dumps({"instances": [2.0]}))[0] == 200
        assert refusal(node.predictions.Predict, request("broken", x=X)) == (
            grpc.StatusCode.NOT_FOUND, "Servable not found for request: Latest(broken)")
