"""The Open Inference Protocol by gRPC and by plain HTTP, as docs/contract.md has it."""

import json

import grpc
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from calls import MODELS, SECONDS, predict, request
from config_test import models, serving
from config_test import model as config
from google.protobuf import descriptor_pb2
from oip import METHODS, NAMES, binary_body, call, infer_request, message, packed, split, stream
from rest_test import ask
from serving import running_node

X = np.array([1, 2, 5], np.float32)
Y = X / 2 + 2
HALF = "/v2/models/half_plus_two_tf1"
JSON_BODY = {"id": "7", "inputs": [{"name": "x", "datatype": "FP32", "shape": [3], "data": [1, 2, 5]}]}

# The values of each datatype of the model "types", whose signatures return their input x as y.
SAMPLES = {
    "bool": np.array([[True, False]]), "uint8": np.array([[0, 255]], np.uint8), "uint32": np.array([[0, 2**32 - 1]], np.uint32),
    "uint64": np.array([[1, 2**64 - 1]], np.uint64), "int8": np.array([[-128, 127]], np.int8),
    "int16": np.array([[-32768, 32767]], np.int16), "int32": np.array([[-(2**31), 2**31 - 1]], np.int32),
    "int64": np.array([[-(2**63), 2**63 - 1]], np.int64), "float16": np.array([[1.5, -65504]], np.float16),
    "float32": np.array([[1e-45, 3.4028235e38, -0.0]], np.float32), "float64": np.array([[5e-324, 1.7976931348623157e308]]),
    "bfloat16": np.array([[1.5, -3e38]], ml_dtypes.bfloat16), "string": np.array([[b"", "ä\n\"".encode(), b"\0"]], object)}


def datatype(name: str) -> str:
    return {"string": "BYTES", "bfloat16": "BF16"}.get(name) or NAMES[SAMPLES[name].dtype.type]


def error_of(make_call, *arguments, **fields) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        make_call(*arguments, **fields)
    return caught.value.code(), caught.value.details()


def infer(node, body, path: str = HALF + "/infer", headers=None):
    return ask(node, "POST", path, body, headers)


# ------------------------------------------------------------------------------------------------- Health and metadata

@pytest.mark.contract("O1", "O19")
@pytest.mark.parametrize("method, path, status", [
    ("GET", "/v2/nope", 404), ("GET", "/v2/", 404), ("GET", "/v2/models", 404), ("GET", HALF + "/versions", 404),
    ("POST", "/v2", 405), ("GET", HALF + "/infer", 405), ("PUT", HALF, 405), ("GET", "/v2/repository/index", 405)])
def test_other_paths_and_methods_are_refused(half, method, path, status):
    answer = ask(half, method, path)
    assert (answer.status, answer.error) == (status, "Not Found" if status == 404 else "Method Not Allowed")


@pytest.mark.contract("O1")
@pytest.mark.parametrize("path", ["/v2/models/half%5Fplus_two_tf1", HALF + "?a=b", HALF + "/versions/1"])
def test_names_are_decoded_and_queries_ignored(half, path):
    assert ask(half, "GET", path).json["name"] == "half_plus_two_tf1"


@pytest.mark.contract("O2")
def test_the_service_has_all_methods_and_the_health_service_knows_it(half):
    for name in METHODS.keys() - {"ModelStreamInfer"}:
        try:
            call(half, name)
        except grpc.RpcError as error:
            assert error.details(), name  # gRPC's own answer to an unknown method has no text.
    asked = descriptor_pb2.FileDescriptorProto(name="inference.GRPCInferenceService")  # Field 1, as HealthCheckRequest.
    check = half.channel.unary_unary("/grpc.health.v1.Health/Check", lambda sent: sent.SerializeToString(), bytes)
    assert check(asked, timeout=SECONDS) == b"\x08\x01"


@pytest.mark.contract("O2")
def test_reflection_lists_the_service(tmp_path):
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1", "--enable_reflection") as started:
        ask_all = started.serving().channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                                          bytes, bytes)
        list_services = b"\x3a\x00"  # Field 7, an empty string.
        assert b"inference.GRPCInferenceService" in next(ask_all(iter([list_services]), timeout=SECONDS))


@pytest.mark.contract("O3", "O4")
def test_the_server_and_its_models_are_ready(half):
    assert call(half, "ServerLive").live and call(half, "ServerReady").ready
    assert ask(half, "GET", "/v2/health/live").text == '{"live":true}'
    assert ask(half, "GET", "/v2/health/ready").text == '{"ready":true}'
    assert ask(half, "GET", HALF + "/ready").text == '{"name":"half_plus_two_tf1","ready":true}'
    for name, version, ready in [(half.model, "", True), (half.model, "1", True), (half.model, "9", False), ("nope", "", False)]:
        assert call(half, "ModelReady", name=name, version=version).ready is ready
    for path in ["/v2/models/nope/ready", HALF + "/versions/9/ready"]:
        answer = ask(half, "GET", path)
        assert (answer.status, answer.error) == (400, "Model version not ready")


@pytest.mark.contract("O5")
def test_the_server_describes_itself(half):
    answer = ask(half, "GET", "/v2").json
    assert answer["name"] == "longshore" and "binary_tensor_data" in answer["extensions"]
    assert not any("shared_memory" in extension or extension == "sequence" for extension in answer["extensions"])
    proto = call(half, "ServerMetadata")
    assert (proto.name, proto.version, list(proto.extensions)) == (answer["name"], answer["version"], answer["extensions"])


@pytest.mark.contract("O6", "O7")
def test_a_model_is_described_by_its_default_signature(half):
    tensor = {"datatype": "FP32", "shape": [-1]}
    described = ask(half, "GET", HALF).json
    assert described == {"name": half.model, "versions": ["1"], "platform": "tensorflow_savedmodel",
                         "inputs": [{"name": "x"} | tensor], "outputs": [{"name": "y"} | tensor]}
    proto = call(half, "ModelMetadata", name=half.model)
    assert [list(one.shape) for one in proto.inputs] == [one["shape"] for one in described["inputs"]]
    settings = ask(half, "GET", HALF + "/config").json
    assert (settings["max_batch_size"], settings["version_policy"]) == (0, {"specific": {"versions": [1]}})
    assert settings["input"][0]["dims"] == described["inputs"][0]["shape"] and settings["input"][0]["data_type"] == "TYPE_FP32"
    assert call(half, "ModelConfig", name=half.model).config.input[0].name == "x"


@pytest.mark.contract("O19")
@pytest.mark.parametrize("name, version, text", [
    ("nope", "", "Request for unknown model: 'nope' is not found"),
    ("half_plus_two_tf1", "77", "Request for unknown model: 'half_plus_two_tf1' version 77 is not found")])
def test_an_unknown_model_has_tritons_error(half, name, version, text):
    part = f"/versions/{version}" if version else ""
    for method in ["ModelMetadata", "ModelConfig", "ModelStatistics"]:
        assert error_of(call, half, method, name=name, version=version) == (grpc.StatusCode.NOT_FOUND, text)
    sent = infer_request(name, "FP32", X)
    sent.model_version = version
    assert error_of(call, half, "ModelInfer", sent) == (grpc.StatusCode.NOT_FOUND, text)
    for path, body in [("", None), ("/config", None), ("/stats", None), ("/infer", JSON_BODY)]:
        answer = ask(half, "POST" if body else "GET", f"/v2/models/{name}{part}{path}", body)
        assert (answer.status, answer.error) == (404, text)


@pytest.mark.contract("R11")
def test_pages_of_other_origins_may_use_the_header_of_binary_data(open_half):
    for method, path in [("GET", "/v2/health/live"), ("OPTIONS", "/v2/models/x/infer")]:
        answer = ask(open_half, method, path, headers={"Origin": "https://a"})
        assert answer.status == 200
        assert answer.headers["Access-Control-Allow-Headers"] == "Content-Type, Inference-Header-Content-Length"
        assert answer.headers["Access-Control-Expose-Headers"] == "Inference-Header-Content-Length"


# ----------------------------------------------------------------------------------------------------------- Inference

@pytest.mark.contract("O8", "O9", "O10", "O11", "O12", "O17")
@pytest.mark.parametrize("name", SAMPLES)
def test_all_forms_and_protocols_give_the_same_bits(types, name):
    array, kind = SAMPLES[name], datatype(name)
    want = packed(array)
    sent = infer_request(types.model, kind, array, signature_name=name)
    assert list(call(types, "ModelInfer", sent).raw_output_contents) == [want]
    body, headers = binary_body(kind, array, signature_name=name, binary_data_output=True)
    answer = infer(types, body, f"/v2/models/{types.model}/infer", headers)
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert split(answer)[1] == [want]
    tensor = tf.make_tensor_proto(array, tf.as_dtype(name))
    assert packed(tf.make_ndarray(predict(types, request(types.model, name, x=tensor)).outputs["y"])) == want
    if name in ("float16", "bfloat16"):
        body, headers = binary_body(kind, array, signature_name=name)
        refused = infer(types, body, f"/v2/models/{types.model}/infer", headers)
        assert (refused.status, "via JSON is not supported" in refused.error) == (400, True)
        return
    data = [one.decode() for one in array.flat] if name == "string" else array.tolist()
    text = json.dumps({"parameters": {"signature_name": name},
                       "inputs": [{"name": "x", "datatype": kind, "shape": list(array.shape), "data": data}]})
    output = infer(types, text, f"/v2/models/{types.model}/infer").json["outputs"][0]
    got = output["data"] if name != "string" else [one.encode() for one in output["data"]]
    assert output["shape"] == list(array.shape) and packed(np.array(got, array.dtype)) == want


@pytest.mark.contract("O9")
@pytest.mark.parametrize("name, field", [
    ("bool", "bool_contents"), ("int8", "int_contents"), ("int16", "int_contents"), ("int32", "int_contents"),
    ("int64", "int64_contents"), ("uint8", "uint_contents"), ("uint32", "uint_contents"), ("uint64", "uint64_contents"),
    ("float32", "fp32_contents"), ("float64", "fp64_contents"), ("string", "bytes_contents")])
def test_typed_contents_are_read_like_raw_ones(types, name, field):
    array = SAMPLES[name]
    sent = infer_request(types.model, datatype(name), array, signature_name=name)
    del sent.raw_input_contents[:]
    getattr(sent.inputs[0].contents, field).extend(array.flatten().tolist())
    answer = call(types, "ModelInfer", sent)
    assert list(answer.raw_output_contents) == [packed(array)] and not answer.outputs[0].HasField("contents")


@pytest.mark.contract("O9")
def test_contents_that_do_not_fit_are_refused(half):
    both = infer_request(half.model, "FP32", X)
    both.inputs[0].contents.fp32_contents.extend([1, 2, 5])
    short = infer_request(half.model, "FP32", X)
    short.inputs[0].shape[:] = [5]
    for sent, text in [(both, "must not be specified when using raw_input_contents"), (short, "Expected 20, got 12")]:
        code, details = error_of(call, half, "ModelInfer", sent)
        assert code == grpc.StatusCode.INVALID_ARGUMENT and text in details


@pytest.mark.contract("O10", "O13")
def test_an_inference_in_json(half):
    answer = infer(half, JSON_BODY)
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.text == ('{"id":"7","model_name":"half_plus_two_tf1","model_version":"1","outputs":'
                           '[{"name":"y","datatype":"FP32","shape":[3],"data":[2.5,3.0,4.5]}]}')


@pytest.mark.contract("O10")
@pytest.mark.parametrize("change, text", [
    ({"data": [1, 2]}, "Shape does not match"), ({"data": [1, 2, "x"]}, "not a valid FP32"),
    ({"datatype": "FP16"}, "sending FP16 data via JSON is not supported"), ({"datatype": "X"}, "invalid datatype"),
    ({"datatype": "INT8", "data": [1, 2, 300]}, "300 is not a valid INT8"), ({"shape": [2**40]}, "more than"),
    ({"shape": [-3]}, "input 'x'"), ({"data": None}, "neither is set")])
def test_a_wrong_input_gets_an_error(half, change, text):
    answer = infer(half, {"inputs": [JSON_BODY["inputs"][0] | change]})
    assert answer.status in (400, 429) and text in answer.error


@pytest.mark.contract("O19")
@pytest.mark.parametrize("body", ["", "{", "[1]", "{}", '{"inputs": 3}', '{"inputs": [{}]}', '{"id": {}, "inputs": []}'])
def test_a_body_that_is_not_a_request_gets_400(half, body):
    assert infer(half, body).status == 400


@pytest.mark.contract("O11")
def test_a_binary_body_needs_a_header_that_fits(half):
    body, headers = binary_body("FP32", X)
    assert infer(half, body, headers=headers).json["outputs"][0]["data"] == Y.tolist()
    for wrong in [{"Content-Type": "application/octet-stream"}, {"Inference-Header-Content-Length": "0"},
                  {"Inference-Header-Content-Length": str(len(body) + 1)}, {"Inference-Header-Content-Length": "x"}]:
        assert infer(half, body, headers=wrong).status == 400
    assert "unexpected additional input data" in infer(half, body + b"1", headers=headers).error
    mixed = JSON_BODY | {"outputs": [{"name": "y", "parameters": {"binary_data": True}}]}
    assert split(infer(half, mixed))[1] == [Y.tobytes()]


@pytest.mark.contract("O12")
def test_bytes_that_are_not_utf8_have_no_json_form(types):
    body, headers = binary_body("BYTES", np.array([b"\xff"], object), signature_name="string")
    answer = infer(types, body, f"/v2/models/{types.model}/infer", headers)
    assert answer.status == 400 and "not valid UTF-8" in answer.error


@pytest.mark.contract("O13")
def test_the_id_is_repeated_and_a_version_is_a_number_or_a_label(tmp_path):
    labels = 'model_version_policy { all {} } version_labels { key: "stable" value: 1 }'
    with serving(tmp_path, models(config("half", MODELS / "half_plus_two_tf1", labels))) as (started, _):
        node = started.serving()
        sent = infer_request("half", "FP32", X)
        sent.id = "a b"
        for version in ["", "1", "stable"]:
            sent.model_version = version
            answer = call(node, "ModelInfer", sent)
            assert (answer.id, answer.model_name, answer.model_version) == ("a b", "half", "1")
            path = f"/versions/{version}" if version else ""
            assert infer(node, JSON_BODY, f"/v2/models/half{path}/infer").json["model_version"] == "1"
        sent.model_version = "canary"
        assert error_of(call, node, "ModelInfer", sent) == (grpc.StatusCode.INVALID_ARGUMENT,
                                                            "Unrecognized servable version label: canary")


@pytest.mark.contract("O14")
def test_outputs_are_selected_and_the_graph_checks_inputs(digits):
    image = np.zeros((1, 8, 8, 1), np.float32)
    described = call(digits, "ModelMetadata", name=digits.model)
    names = [output.name for output in described.outputs]
    sent = infer_request(digits.model, "FP32", image, described.inputs[0].name)
    assert [output.name for output in call(digits, "ModelInfer", sent).outputs] == names and len(names) == 2
    for name in reversed(names):
        sent.outputs.add(name=name)
    assert [output.name for output in call(digits, "ModelInfer", sent).outputs] == names[::-1]
    sent.outputs.add(name="zz")
    assert "output tensor alias not found in signature: zz" in error_of(call, digits, "ModelInfer", sent)[1]
    assert "input size does not match signature" in error_of(
        call, digits, "ModelInfer", infer_request(digits.model, "FP32", image, "zz"))[1]
    wrong = infer_request(digits.model, "FP64", image.astype(np.float64), described.inputs[0].name)
    assert error_of(call, digits, "ModelInfer", wrong)[0] == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.contract("O15")
def test_classification_returns_the_highest_values(half, types):
    wanted = {"outputs": [{"name": "y", "parameters": {"classification": 2}}]}
    output = infer(half, JSON_BODY | wanted).json["outputs"][0]
    assert (output["datatype"], output["shape"], output["data"]) == ("BYTES", [2], ["4.500000:2", "3.000000:1"])
    array = np.array([[1, 7, 7], [-1, -2, 0]], np.int32)
    sent = infer_request(types.model, "INT32", array, signature_name="int32")
    sent.outputs.add(name="y").parameters["classification"].int64_param = 1
    answer = call(types, "ModelInfer", sent)
    assert list(answer.outputs[0].shape) == [2, 1]
    assert answer.raw_output_contents[0] == packed(np.array([b"7:1", b"0:2"], object))
    sent = infer_request(types.model, "BYTES", SAMPLES["string"], signature_name="string")
    sent.outputs.add(name="y").parameters["classification"].int64_param = 1
    assert "unsupported type 'BYTES'" in error_of(call, types, "ModelInfer", sent)[1]


@pytest.mark.contract("O16")
def test_a_request_whose_run_does_not_begin_within_its_timeout_fails(half):
    code, _ = error_of(call, half, "ModelInfer", infer_request(half.model, "FP32", X, timeout=1))
    assert code == grpc.StatusCode.DEADLINE_EXCEEDED
    assert infer(half, JSON_BODY | {"parameters": {"timeout": 1}}).status == 504


@pytest.mark.contract("O16", "O17")
def test_parameters(half):
    call(half, "ModelInfer", infer_request(half.model, "FP32", X, priority=1, timeout=5000000, unknown="p"))
    assert infer(half, JSON_BODY | {"parameters": {"priority": 12, "unknown": 1.5}}).status == 200
    for name, value, text in [("priority", "high", "invalid value type for 'priority' parameter"),
                              ("timeout", -1, "invalid value type for 'timeout' parameter"),
                              ("sequence_id", 3, "sequences are not supported"), ("triton_x", 1, "are reserved")]:
        code, details = error_of(call, half, "ModelInfer", infer_request(half.model, "FP32", X, **{name: value}))
        answer = infer(half, JSON_BODY | {"parameters": {name: value}})
        assert code == grpc.StatusCode.INVALID_ARGUMENT and text in details
        assert answer.status == 400 and text in answer.error


@pytest.mark.contract("O18")
def test_shared_memory_is_refused_with_an_explanation(half):
    text = "this server maps no memory of its clients"
    for kind in ["System", "Cuda"]:
        code, details = error_of(call, half, f"{kind}SharedMemoryRegister", name="r", byte_size=8)
        assert code == grpc.StatusCode.UNIMPLEMENTED and text in details
        assert not call(half, f"{kind}SharedMemoryStatus").regions
        call(half, f"{kind}SharedMemoryUnregister", name="r")
        path = f"/v2/{kind.lower()}sharedmemory"
        refused = ask(half, "POST", path + "/region/r/register", {"byte_size": 8})
        assert refused.status == 400 and text in refused.error
        assert ask(half, "GET", path + "/status").json == [] and ask(half, "POST", path + "/unregister").status == 200
    sent = infer_request(half.model, "FP32", X)
    sent.inputs[0].parameters["shared_memory_region"].string_param = "r"
    assert text in error_of(call, half, "ModelInfer", sent)[1]
    shared = JSON_BODY["inputs"][0] | {"parameters": {"shared_memory_region": "r", "shared_memory_byte_size": 12}}
    assert text in infer(half, {"inputs": [shared]}).error


@pytest.mark.contract("O20")
def test_a_stream_answers_each_request_in_order(half):
    wrong = infer_request(half.model, "FP32", X, "zz")
    marked = infer_request(half.model, "FP32", X, triton_enable_empty_final_response=True)
    requests = [infer_request(half.model, "FP32", X), wrong, marked]
    for number, sent in enumerate(requests):
        sent.id = str(number)
    answers = stream(half, requests)
    assert [answer.infer_response.id for answer in answers] == ["0", "1", "2"]
    assert [bool(answer.error_message) for answer in answers] == [False, True, False]
    assert "input size does not match signature" in answers[1].error_message
    assert answers[0].infer_response.raw_output_contents[0] == Y.tobytes()
    assert answers[2].infer_response.parameters["triton_final_response"].bool_param
    assert not answers[0].infer_response.parameters


# ------------------------------------------------------------------------------------------------- Triton's extensions

@pytest.mark.contract("O21")
def test_statistics_count_the_requests_of_all_protocols(tmp_path):
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1") as started:
        node = started.serving()
        call(node, "ModelInfer", infer_request("half", "FP32", X))
        infer(node, JSON_BODY, "/v2/models/half/infer")
        predict(node, request("half", x=X))
        error_of(call, node, "ModelInfer", infer_request("half", "FP32", X, "zz"))
        [statistics] = ask(node, "GET", "/v2/models/stats").json["model_stats"]
        assert (statistics["name"], statistics["version"], statistics["execution_count"]) == ("half", "1", 3)
        parts = statistics["inference_stats"]
        assert [parts[key]["count"] for key in ["success", "fail", "queue", "compute_infer", "cache_hit"]] == [3, 1, 3, 3, 0]
        assert parts["success"]["ns"] >= parts["compute_infer"]["ns"] > 0 and statistics["last_inference"] > 1.6e12
        [batch] = statistics["batch_stats"]
        assert (batch["compute_infer"]["count"], batch["batch_size"] * 3) == (3, statistics["inference_count"])
        for path in ["/v2/models/half/stats", "/v2/models/half/versions/1/stats"]:
            assert ask(node, "GET", path).json["model_stats"][0]["execution_count"] == 3
        assert call(node, "ModelStatistics").model_stats[0].inference_stats.success.count == 3


@pytest.mark.contract("O22", "O23")
def test_a_model_is_set_aside_until_it_is_loaded_or_the_configuration_changes(tmp_path):
    both = [config("half", MODELS / "half_plus_two_tf1"), config("strings", MODELS / "strings")]
    with serving(tmp_path, models(*both), "--model_config_file_poll_wait_seconds=0.1") as (started, file):
        node = started.serving()

        def index(**filters):
            return {one["name"]: one.get("state") for one in ask(node, "POST", "/v2/repository/index", filters).json}

        def is_ready(name):
            return call(node, "ModelReady", name=name).ready
        assert index() == {"half": "READY", "strings": "READY"}
        assert ask(node, "POST", "/v2/repository/models/strings/unload").status == 200
        node.until(lambda: not is_ready("strings") or None)
        assert index(ready=True) == {"half": "READY"} and "strings" in index()
        assert call(node, "ServerReady").ready and is_ready("half")
        assert ask(node, "POST", "/v2/repository/models/strings/load").status == 200 and is_ready("strings")
        call(node, "RepositoryModelLoad", model_name="strings")
        call(node, "RepositoryModelUnload", model_name="strings")
        file.write_text(models(*reversed(both)))
        node.until(lambda: is_ready("strings") or None)


@pytest.mark.contract("O23")
def test_load_and_unload_refuse_what_they_cannot_do(half):
    for method in ["RepositoryModelLoad", "RepositoryModelUnload"]:
        code, text = error_of(call, half, method, model_name="nope")
        assert code == grpc.StatusCode.NOT_FOUND and "'nope'" in text
        assert error_of(call, half, method, model_name=half.model, repository_name="r") == (
            grpc.StatusCode.UNIMPLEMENTED, "'repository_name' specification is not supported")
    answer = ask(half, "POST", f"/v2/repository/models/{half.model}/load", {"parameters": {"config": "{}"}})
    assert answer.status == 400 and "load parameter 'config' is not supported" in answer.error
    assert ask(half, "POST", "/v2/repository/models/nope/load").status == 404


@pytest.mark.contract("O23")
def test_without_reload_requests_models_are_not_loaded_or_unloaded(tmp_path):
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1", "--enable_reload_requests=false") as started:
        node = started.serving()
        assert error_of(call, node, "RepositoryModelUnload", model_name="half")[0] == grpc.StatusCode.PERMISSION_DENIED
        assert call(node, "ModelReady", name="half").ready


@pytest.mark.contract("O24")
def test_log_settings_change_the_level_only_with_tokens(tmp_path, half):
    token = "admin-0123456789abcdef"
    headers = {"Authorization": f"Bearer {token}"}
    (tmp_path / "tokens").write_text(f"ops {token} admin\n")
    settings = {"log_file": "", "log_info": True, "log_warning": True, "log_error": True, "log_verbose_level": 0,
                "log_format": "default"}
    assert ask(half, "GET", "/v2/logging").json == ask(half, "POST", "/v2/logging", {"log_verbose_level": 0}).json == settings
    assert ask(half, "POST", "/v2/logging", {"log_verbose_level": 1}).status == 403
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1", f"--auth_tokens_file={tmp_path}/tokens") as started:
        node = started.ready()
        assert ask(node, "POST", "/v2/logging", {"log_verbose_level": 1}, headers).json["log_verbose_level"] == 1
        sent = message("LogSettingsRequest")
        sent.settings["log_verbose_level"].uint32_param = 0
        sent.settings["log_info"].bool_param = False
        answer = call(node, "LogSettings", sent, metadata=[("authorization", f"Bearer {token}")])
        assert not answer.settings["log_info"].bool_param and answer.settings["log_warning"].bool_param
        for wrong in [{"log_file": "/tmp/x"}, {"nope": 1}]:
            assert ask(node, "POST", "/v2/logging", wrong, headers).status == 400


@pytest.mark.contract("O24")
def test_trace_settings_are_constant(half):
    trace = {"trace_level": ["OFF"], "trace_rate": "1000", "trace_count": "-1", "log_frequency": "0", "trace_file": "",
             "trace_mode": "triton"}
    assert ask(half, "GET", "/v2/trace/setting").json == trace
    assert ask(half, "POST", "/v2/models/half/trace/setting", {"trace_level": ["OFF"]}).json == trace
    assert ask(half, "POST", "/v2/trace/setting", {"trace_level": ["TIMESTAMPS"]}).status == 400


@pytest.mark.contract("O25")
def test_only_tokens_with_the_scope_admin_change_the_node(tmp_path):
    web, admin = "web-0123456789abcdef", "admin-0123456789abcdef"
    (tmp_path / "tokens").write_text(f"web {web} predict\nops {admin} admin\n")
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1", f"--auth_tokens_file={tmp_path}/tokens") as started:
        node = started.ready()

        def code(name, token, **fields):
            try:
                call(node, name, metadata=[("authorization", f"Bearer {token}")] if token else [], **fields)
            except grpc.RpcError as error:
                return error.code()
            return grpc.StatusCode.OK
        ok, denied = grpc.StatusCode.OK, grpc.StatusCode.PERMISSION_DENIED
        for name in ["LogSettings", "TraceSetting"]:
            assert [code(name, None), code(name, web), code(name, admin)] == [grpc.StatusCode.UNAUTHENTICATED, denied, ok]
        for name in ["RepositoryModelLoad", "RepositoryModelUnload"]:
            assert [code(name, web, model_name="half"), code(name, admin, model_name="half")] == [denied, ok]
        assert code("ServerLive", web) == ok and code("ServerLive", None) == grpc.StatusCode.UNAUTHENTICATED
        for path, method in [("/v2/logging", "GET"), ("/v2/trace/setting", "POST"), ("/v2/repository/models/half/load", "POST")]:
            statuses = [ask(node, method, path, headers={"Authorization": f"Bearer {token}"}).status for token in [web, admin]]
            assert statuses == [403, 200], path
        assert ask(node, "GET", "/v2/health/live").status == 401


@pytest.mark.contract("O26")
def test_kserves_first_protocol_is_that_of_tensorflow_serving(half):
    answer = ask(half, "POST", "/v1/models/half_plus_two_tf1:predict", {"instances": [1, 2]})
    assert answer.json == {"predictions": [2.5, 3.0]}
    assert "model_version_status" in ask(half, "GET", "/v1/models/half_plus_two_tf1").json


@pytest.mark.contract("O8")
def test_types_that_the_protocol_does_not_have_are_refused(types):
    sent = infer_request(types.model, "INT8", SAMPLES["int8"], signature_name="qint8")
    assert error_of(call, types, "ModelInfer", sent)[0] == grpc.StatusCode.INVALID_ARGUMENT
    sent = infer_request(types.model, "QINT8", SAMPLES["int8"], signature_name="qint8")
    assert error_of(call, types, "ModelInfer", sent) == (grpc.StatusCode.INVALID_ARGUMENT,
                                                         "invalid datatype for input 'x': 'QINT8'")
