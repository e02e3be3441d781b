"""The model config file: several models, version policies and labels, and reloads by call and by file."""

import contextlib
import shutil

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, call_error, predict, request, run_node
from google.protobuf import text_format
from serving import running_node
from tensorflow_serving.apis import get_model_status_pb2, model_management_pb2

X = np.array([2.0], np.float32)
IMAGE = np.zeros((1, 8, 8, 1), np.float32)
AVAILABLE = get_model_status_pb2.ModelVersionStatus.AVAILABLE


def model(name: str, path, more: str = "") -> str:
    return f'config {{ name: "{name}" base_path: "{path}" model_platform: "tensorflow" {more} }}\n'


def models(*configs: str) -> str:
    return "model_config_list {\n" + "".join(configs) + "}\n"


HALF = model("half", MODELS / "half_plus_two_tf1")
SPECIFIC = "model_version_policy { specific { versions: 1 versions: 2 } } "
LABELS = 'version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 2 }'


@contextlib.contextmanager
def serving(tmp_path, text: str, *flags: str):
    """Starts a node with this model config file; yields the node and the path of the file."""
    file = tmp_path / "models.config"
    file.write_text(text)
    with running_node(tmp_path, "half", None, f"--model_config_file={file}", *flags) as node:
        yield node, file


def versions(node, name: str) -> list[int]:
    proto = get_model_status_pb2.GetModelStatusRequest()
    proto.model_spec.name = name
    try:
        statuses = node.models.GetModelStatus(proto, timeout=SECONDS).model_version_status
    except grpc.RpcError:
        return []
    return sorted(one.version for one in statuses if one.state == AVAILABLE)


def wait_for(node, name: str, wanted: list[int]) -> None:
    node.until(lambda: versions(node, name) == wanted or None)


def reload(node, text: str, seconds: float = SECONDS):
    proto = model_management_pb2.ReloadConfigRequest()
    text_format.Parse(text, proto.config)
    return node.models.HandleReloadConfigRequest(proto, timeout=seconds)


def reload_error(node, text: str, seconds: float = SECONDS) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        reload(node, text, seconds)
    return caught.value.code(), caught.value.details()


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    text = models(HALF, model("two", MODELS / "digits", SPECIFIC + LABELS),
                  model("all", MODELS / "digits", "model_version_policy { all {} }"),
                  model("newest_two", MODELS / "digits", "model_version_policy { latest { num_versions: 2 } }"))
    with serving(tmp_path_factory.mktemp("several"), text) as (node, _):
        for name, wanted in (("half", [1]), ("two", [1, 2]), ("all", [1, 2, 3, 4, 5]), ("newest_two", [4, 5])):
            wait_for(node, name, wanted)
        yield node


@pytest.mark.contract("L2", "F4")
def test_every_model_has_the_versions_of_its_policy(several):
    assert [versions(several, name) for name in ("half", "two", "all", "newest_two")] == [
        [1], [1, 2], [1, 2, 3, 4, 5], [4, 5]]


@pytest.mark.contract("G4", "L12")
@pytest.mark.parametrize("label, version", [("stable", 1), ("canary", 2)])
def test_a_label_selects_its_version_from_the_start(several, label, version):
    assert predict(several, request("two", label=label, image=IMAGE)).model_spec.version.value == version
    status, _ = several.rest(f"/v1/models/two/labels/{label}:predict", '{"instances": [' + str(IMAGE[0].tolist()) + "]}")
    assert status == 200


@pytest.mark.contract("G3", "G4")
def test_a_request_for_a_version_is_answered_by_that_version(several):
    assert predict(several, request("two", image=IMAGE)).model_spec.version.value == 2
    for version in (1, 2, 3, 4, 5):
        assert predict(several, request("all", version=version, image=IMAGE)).model_spec.version.value == version


@pytest.mark.contract("L8", "L9", "L13")
def test_a_reload_adds_and_removes_models_and_returns_when_it_is_done(tmp_path):
    with serving(tmp_path, models(HALF)) as (node, _):
        wait_for(node, "half", [1])
        reload(node, models(model("digits", MODELS / "digits")))
        assert predict(node, request("digits", image=IMAGE)).model_spec.version.value == 5
        node.until(lambda: versions(node, "half") == [] or None)
        assert call_error(node.predictions.Predict, request("half", x=X))[0] == grpc.StatusCode.NOT_FOUND
        reload(node, models(HALF, model("digits", MODELS / "digits", SPECIFIC)))
        assert versions(node, "digits") == [1, 2] or 5 in versions(node, "digits")
        wait_for(node, "digits", [1, 2])
        assert predict(node, request("half", x=X)).outputs["y"].float_val == [3]


@pytest.mark.contract("L8", "L11")
@pytest.mark.parametrize("bad, text", [
    (HALF + HALF, 'model "half" is configured twice'),
    (model("", "/m"), "has no name"),
    (model("m", "relative/path"), 'base_path "relative/path" is not absolute'),
    ('config { name: "m" base_path: "/m" }', "model_platform is missing"),
    ('config { name: "m" base_path: "/m" model_platform: "onnx" }', 'model_platform "onnx" is not supported'),
    ('config { name: "m" model_platform: "tensorflow" }', "base_path is missing"),
    (model("m", "/m", "model_version_policy { specific {} }"), "names no version"),
    (model("m", "s3://bucket/m"), "is not a directory"),
], ids=["twice", "no name", "relative", "no platform", "platform", "no path", "no versions", "a bucket"])
def test_a_reload_with_an_invalid_entry_changes_nothing(reloadable, bad, text):
    code, details = reload_error(reloadable, models(model("digits", MODELS / "digits"), bad))
    assert code == grpc.StatusCode.INVALID_ARGUMENT and text in details
    assert predict(reloadable, request("half", x=X)).model_spec.version.value == 1
    assert versions(reloadable, "digits") == []


@pytest.fixture(scope="module")
def reloadable(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("reloadable"), models(HALF)) as (node, _):
        wait_for(node, "half", [1])
        yield node


@pytest.mark.contract("L9", "L10")
def test_a_model_that_fails_to_load_is_named_and_blocks_no_other(tmp_path):
    (tmp_path / "empty").mkdir()
    broken = tmp_path / "broken"
    shutil.copytree(MODELS / "half_plus_two_tf1" / "1", broken / "1")
    (broken / "1" / "saved_model.pb").write_bytes(b"not a model")
    with serving(tmp_path, models(HALF), "--max_num_load_retries=0") as (node, _):
        wait_for(node, "half", [1])
        for name in ("empty", "broken", "missing"):
            code, text = reload_error(node, models(HALF, model(name, tmp_path / name), model("digits", MODELS / "digits")))
            assert code == grpc.StatusCode.UNAVAILABLE and "1 servable(s) did not become available" in text
            assert f'model "{name}"' in text
            assert predict(node, request("half", x=X)).model_spec.version.value == 1
            assert predict(node, request("digits", image=IMAGE)).model_spec.version.value == 5


@pytest.mark.contract("L10")
def test_at_the_start_a_missing_model_blocks_no_other(tmp_path):
    with serving(tmp_path, models(model("missing", tmp_path / "missing"), HALF)) as (node, _):
        wait_for(node, "half", [1])
        assert predict(node, request("half", x=X)).model_spec.version.value == 1
        shutil.copytree(MODELS / "half_plus_three_tf2", tmp_path / "missing")
        wait_for(node, "missing", [1])


@pytest.mark.contract("L12")
def test_a_label_cannot_move_to_an_unavailable_version(tmp_path):
    two = model("two", MODELS / "digits", SPECIFIC + LABELS)
    moved = model("two", MODELS / "digits", SPECIFIC + 'version_labels { key: "stable" value: 5 }')
    with serving(tmp_path, models(two)) as (node, _):
        wait_for(node, "two", [1, 2])
        code, text = reload_error(node, models(moved))
        assert code == grpc.StatusCode.FAILED_PRECONDITION
        assert text == ("Request to assign label to version 5 of model two, which is not currently available for inference")
        assert predict(node, request("two", label="stable", image=IMAGE)).model_spec.version.value == 1
        reload(node, models(model("two", MODELS / "digits", SPECIFIC + 'version_labels { key: "stable" value: 2 }')))
        assert predict(node, request("two", label="stable", image=IMAGE)).model_spec.version.value == 2


@pytest.mark.contract("F7")
@pytest.mark.parametrize("flag", [True, False])
def test_a_new_label_may_name_an_unavailable_version_only_with_the_flag(tmp_path, flag):
    flags = ["--allow_version_labels_for_unavailable_models"] if flag else []
    with serving(tmp_path, models(model("two", MODELS / "digits", SPECIFIC)), *flags) as (node, _):
        wait_for(node, "two", [1, 2])
        text = models(model("two", MODELS / "digits",
                            "model_version_policy { specific { versions: 1 versions: 3 } } "
                            'version_labels { key: "next" value: 3 }'))
        if flag:
            reload(node, text)
            node.until(lambda: versions(node, "two") == [1, 3] or None)
            assert predict(node, request("two", label="next", image=IMAGE)).model_spec.version.value == 3
        else:
            assert reload_error(node, text)[0] == grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.contract("F5")
def test_a_changed_file_is_read_again_and_an_invalid_one_changes_nothing(tmp_path):
    with serving(tmp_path, models(HALF), "--model_config_file_poll_wait_seconds=0.05") as (node, file):
        wait_for(node, "half", [1])
        file.write_text("model_config_list { config { nme: 'x' } }")
        # TensorFlow Serving's ParseProtoTextFile (model_servers/server.cc) leaves it to Protocol Buffers to log the error.
        node.logs("models.config:1:33: Error parsing text-format tensorflow.serving.ModelServerConfig: 1:33: ")
        assert predict(node, request("half", x=X)).model_spec.version.value == 1
        file.write_text(models(HALF, model("digits", MODELS / "digits")))
        wait_for(node, "digits", [5])


@pytest.mark.contract("F5")
@pytest.mark.parametrize("text", ["", " \n", "# model_config_list {}\n"], ids=["empty", "blank", "comment"])
def test_an_empty_file_changes_nothing_and_an_empty_list_unloads_all_models(tmp_path, text):
    with serving(tmp_path, models(HALF), "--model_config_file_poll_wait_seconds=0.05") as (node, file):
        wait_for(node, "half", [1])
        file.write_text(text)
        node.logs("models.config is empty: no action is taken")
        assert predict(node, request("half", x=X)).model_spec.version.value == 1
        file.write_text("model_config_list {}")
        wait_for(node, "half", [])


@pytest.mark.contract("L8")
def test_a_reload_with_an_empty_configuration_is_rejected(reloadable):
    code, details = reload_error(reloadable, "")
    assert code == grpc.StatusCode.INVALID_ARGUMENT and "model_config_list" in details
    assert predict(reloadable, request("half", x=X)).model_spec.version.value == 1


@pytest.mark.contract("F5")
def test_without_the_polling_flag_the_file_is_read_once(tmp_path):
    with serving(tmp_path, models(HALF), "--file_system_poll_wait_seconds=0.05") as (node, file):
        wait_for(node, "half", [1])
        file.write_text(models(model("digits", MODELS / "digits")))
        shutil.copytree(MODELS / "half_plus_two_tf1", tmp_path / "unrelated")  # Takes long enough for several polls of the versions.
        assert versions(node, "digits") == []


def start_error(*flags: str) -> str:
    done = run_node(*flags, "--port=0", "--rest_api_port=0", "--admin_port=0", "--port_file=/dev/null")
    assert done.returncode != 0
    return done.stdout + done.stderr


@pytest.mark.contract("F4")
def test_a_node_without_a_model_names_the_missing_flags():
    text = start_error()
    assert "--model_base_path" in text and "--model_config_file" in text


@pytest.mark.contract("F4", "L11")
@pytest.mark.parametrize("config, text", [
    (models(HALF + HALF), 'model "half" is configured twice'), ("model_config_list { x: 1 }", ":1:"),
    ("model_config_list {", ":1:"), ("custom_model_config {}", "custom_model_config is not supported")])
def test_an_invalid_file_ends_the_start_with_its_name(tmp_path, config, text):
    file = tmp_path / "models.config"
    file.write_text(config)
    output = start_error(f"--model_config_file={file}")
    assert text in output and "models.config" in output


@pytest.mark.contract("F4")
def test_a_missing_file_ends_the_start(tmp_path):
    output = start_error(f"--model_config_file={tmp_path}/none.config")
    assert "--model_config_file" in output and "none.config" in output


@pytest.mark.contract("F4")
def test_the_file_overrides_the_flags_for_a_single_model(tmp_path):
    flags = ("--model_name=other", f"--model_base_path={MODELS / 'digits'}")
    with serving(tmp_path, models(HALF), *flags) as (node, _):
        wait_for(node, "half", [1])
        assert versions(node, "other") == []


@pytest.mark.contract("C7")
def test_with_the_flag_a_signature_answers_only_its_own_method(tmp_path):
    from calls import example
    from grpc_test import classify, examples_request, regress
    from tensorflow_serving.apis import classification_pb2
    with serving(tmp_path, models(model("m", MODELS / "examples_tf2")), "--enable_signature_method_name_check") as (node, _):
        wait_for(node, "m", [1])
        node.model = "m"
        proto = examples_request(classification_pb2.ClassificationRequest, node, "classify", example(x=1))
        code, text = call_error(node.predictions.Classify, proto)
        assert code == grpc.StatusCode.INVALID_ARGUMENT and "tensorflow/serving/classify" in text
    with serving(tmp_path, models(model("m", MODELS / "examples_tf1")), "--enable_signature_method_name_check") as (node, _):
        wait_for(node, "m", [1])
        node.model = "m"
        assert classify(node, "classify_x", example(x=2)).result.classifications[0].classes[0].label == "above"
        assert regress(node, "regress_x", example(x=2)).result.regressions[0].value == 3
