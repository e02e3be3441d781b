"""Rejected requests get the codes and texts of TensorFlow Serving, which clients match. The node keeps serving."""

import json

import grpc
import numpy as np
import pytest
from tensorflow_serving.apis import get_model_status_pb2, predict_pb2

from serving import CALL_SECONDS, ROOT, running_node

Code = grpc.StatusCode
MODEL = "half_plus_two_tf2"


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with running_node(tmp_path_factory.mktemp("errors"), MODEL, ROOT / "tests" / "models" / MODEL) as running:
        yield running.serving()


@pytest.fixture(autouse=True)
def node_keeps_serving(node):
    yield
    np.testing.assert_array_equal(node.predict({"x": np.array([1, 2], np.float32)})["y"], [2.5, 3])


def _rejection(node, change) -> tuple[grpc.StatusCode, str]:
    request = node.request({"x": np.array([1.0], np.float32)})
    change(request)
    with pytest.raises(grpc.RpcError) as error:
        node.predictions.Predict(request, timeout=CALL_SECONDS)
    return error.value.code(), error.value.details()


def _without_inputs(request):
    request.inputs.clear()


def _with_unknown_input(request):
    request.inputs["z"].CopyFrom(request.inputs["x"])


def _renamed(request):
    _with_unknown_input(request)
    del request.inputs["x"]


def _short_content(request):
    tensor = request.inputs["x"]
    del tensor.float_val[:]
    tensor.tensor_shape.dim[0].size = 4
    tensor.tensor_content = b"\0" * 15


MISSING = "input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. Missing but required: {x}."
EXTRA = "input size does not match signature: 2!=1 len({x,z}) != len({x}). Sent extra: {z}. Missing but required: {}."
EXACT = {
    "no model": (lambda r: r.ClearField("model_spec"), Code.INVALID_ARGUMENT, "Missing ModelSpec"),
    "no name": (lambda r: r.model_spec.ClearField("name"), Code.INVALID_ARGUMENT, "ModelSpec has no name specified."),
    "unknown model": (lambda r: setattr(r.model_spec, "name", "nope"), Code.NOT_FOUND,
                      "Servable not found for request: Latest(nope)"),
    "unknown version": (lambda r: setattr(r.model_spec.version, "value", 9), Code.NOT_FOUND,
                        f"Servable not found for request: Specific({MODEL}, 9)"),
    "unknown label": (lambda r: setattr(r.model_spec, "version_label", "best"), Code.INVALID_ARGUMENT,
                      "Unrecognized servable version label: best"),
    "unknown signature": (lambda r: setattr(r.model_spec, "signature_name", "nope"), Code.FAILED_PRECONDITION,
                          'Serving signature key "nope" not found.'),
    "no input": (_without_inputs, Code.INVALID_ARGUMENT, MISSING),
    "an input too many": (_with_unknown_input, Code.INVALID_ARGUMENT, EXTRA),
    "a tensor with too little content": (_short_content, Code.INVALID_ARGUMENT, "tensor parsing error: x"),
    "unknown output": (lambda r: r.output_filter.append("nope"), Code.INVALID_ARGUMENT,
                       "output tensor alias not found in signature: nope"),
    "an output twice": (lambda r: r.output_filter.extend(["y", "y"]), Code.INVALID_ARGUMENT,
                        "duplicate output tensor alias: y"),
}


@pytest.mark.parametrize("case", EXACT)
def test_a_rejected_request_gets_tensorflow_servings_code_and_text(node, case):
    change, code, text = EXACT[case]
    got_code, got_text = _rejection(node, change)
    assert got_code == code
    assert got_text.startswith(text)


def test_a_wrong_name_of_an_input_is_named_in_the_error(node):
    code, text = _rejection(node, _renamed)
    assert code == Code.INVALID_ARGUMENT
    assert "Sent extra: {z}" in text and "Missing but required: {x}" in text


@pytest.mark.parametrize("value", [np.array([1], np.int32), np.array([b"1"], object), np.array([1.0], np.float64)],
                         ids=str)
def test_an_input_of_another_type_is_rejected(node, value):
    with pytest.raises(grpc.RpcError) as error:
        node.predict({"x": value})
    assert error.value.code() == Code.INVALID_ARGUMENT
    assert "x" in error.value.details()


@pytest.mark.parametrize("value", [np.ones((1, 2), np.float32), np.array(1.0, np.float32)], ids=str)
def test_an_input_of_another_shape_than_the_signatures_is_run_if_the_graph_accepts_it(node, value):
    """TensorFlow's Session::Run feeds any shape; TensorFlow Serving never compares it with the signature's."""
    np.testing.assert_array_equal(node.predict({"x": value})["y"], value / 2 + 2)


@pytest.mark.parametrize("name, version, text", [
    ("nope", None, "Could not find any versions of model nope"),
    (MODEL, 9, f"Could not find version 9 of model {MODEL}")])
def test_the_status_of_an_unknown_model_or_version_is_not_found(node, name, version, text):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = name
    if version:
        request.model_spec.version.value = version
    with pytest.raises(grpc.RpcError) as error:
        node.models.GetModelStatus(request, timeout=CALL_SECONDS)
    assert (error.value.code(), error.value.details()) == (Code.NOT_FOUND, text)


def test_an_input_without_rows_gets_an_answer_without_rows(node):
    assert node.predict({"x": np.zeros(0, np.float32)})["y"].shape == (0,)


def test_the_answer_names_its_version(node):
    response = node.predictions.Predict(node.request({"x": np.ones(1, np.float32)}), timeout=CALL_SECONDS)
    want = predict_pb2.PredictResponse().model_spec
    want.name, want.signature_name, want.version.value = MODEL, "serving_default", 1
    assert response.model_spec == want


REST = {
    "no instances": ("{}", 400, "Missing 'inputs' or 'instances' key"),
    "not JSON": ("instances", 400, "JSON Parse error"),
    "rows and columns": ('{"instances": [1], "inputs": [1]}', 400, "Not formatted correctly expecting only"),
    "ragged rows": ('{"instances": [[1, 2], [3]]}', 400, "Expecting"),
    "a row with another name": ('{"instances": [{"z": 1}]}', 400, ""),
    "a word instead of a number": ('{"instances": ["one"]}', 400, ""),
    "unknown signature": ('{"signature_name": "nope", "instances": [1]}', 400,
                          'Serving signature name: "nope" not found in signature def'),
}


@pytest.mark.parametrize("case", REST)
def test_a_rejected_rest_request_gets_a_status_and_an_error_in_json(node, case):
    body, want_status, want_text = REST[case]
    status, text = node.rest(f"/v1/models/{MODEL}:predict", body)
    assert status == want_status, text
    assert want_text in json.loads(text)["error"]


@pytest.mark.parametrize("path, body, want_status, want_text", [
    ("/v1/models/nope:predict", '{"instances": [1]}', 404, "Servable not found for request: Latest(nope)"),
    (f"/v1/models/{MODEL}/versions/9:predict", '{"instances": [1]}', 404,
     f"Servable not found for request: Specific({MODEL}, 9)"),
    (f"/v1/models/{MODEL}:guess", "{}", 400, f"Malformed request: POST /v1/models/{MODEL}:guess"),
    ("/v1/models/nope", None, 404, "Could not find any versions of model nope"),
    ("/v1/models", None, 400, "Missing model name in request."),
    ("/v1/nothing", None, 400, "Malformed request: GET /v1/nothing")])
def test_an_unknown_route_gets_tensorflow_servings_error(node, path, body, want_status, want_text):
    status, text = node.rest(path, body)
    assert status == want_status, text
    assert json.loads(text)["error"] == want_text
