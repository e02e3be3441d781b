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
from oip import METHODS, NAMES, binary_body, call, infer_request, packed, split, stream
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
    for wrong in [{}, {"Content-Type": "application/octet-stream"}, {"Inference-Header-Content-Length": str(len(body) + 1)},
                  {"Inference-Header-Content-Length": "x"}]:
        assert infer(half, body, headers=wrong).status == 400
    assert "unexpected additional input data" in infer(half, body + b"1", headers=headers).error
    mixed = JSON_BODY | {"outputs": [{"name": "y", "parameters": {"binary_data": True}}]}
    assert split(infer(half, mixed))[1] == [Y.tobytes()]


# GetInferenceHeaderLength of Triton's HTTP server. Triton's asynchronous Python client sends this type with every body.
@pytest.mark.contract("O11")
@pytest.mark.parametrize("content_type", ["application/octet-stream", "text/plain"])
def test_json_may_have_any_content_type(half, content_type):
    assert infer(half, JSON_BODY, headers={"Content-Type": content_type}).json["outputs"][0]["data"] == Y.tolist()


@pytest.mark.contract("O11")
def test_a_body_without_json_is_the_only_input_of_the_model(half):
    answer = infer(half, X.tobytes(), headers={"Inference-Header-Content-Length": "0"})
    assert split(answer)[1] == [Y.tobytes()]
    assert "byte size mismatch" in infer(half, X.tobytes() + b"1", headers={"Inference-Header-Content-Length": "0"}).error


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
