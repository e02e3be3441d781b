"""TensorFlow Serving's gRPC API, called with the client stubs of the tensorflow-serving-api wheel."""

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from calls import SECONDS, call_error, change_model, example, floats, predict, request
from google.protobuf import wrappers_pb2
from serving import running_node
from tensorflow_serving.apis import (classification_pb2, get_model_metadata_pb2, get_model_status_pb2,
                                     predict_pb2, regression_pb2)

X = np.array([2.0, 4.0], np.float32)


@pytest.mark.contract("G1", "G3", "G5")
def test_predict_answers_with_name_signature_and_version(half):
    answer = predict(half, request(half.model, x=X))
    np.testing.assert_array_equal(tf.make_ndarray(answer.outputs["y"]), [3, 4])
    assert (answer.model_spec.name, answer.model_spec.version.value, answer.model_spec.signature_name) == (
        half.model, 1, "serving_default")


@pytest.mark.contract("G2")
def test_the_session_service_is_not_served(half):
    call = half.channel.unary_unary("/tensorflow.serving.SessionService/SessionRun")
    assert call_error(call, b"")[0] == grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.contract("G3")
def test_a_request_without_a_version_is_answered_by_the_newest(digits):
    answer = predict(digits, request(digits.model, image=np.zeros((1, 8, 8, 1), np.float32)))
    assert answer.model_spec.version.value == 5


@pytest.mark.contract("G4")
def test_a_request_for_a_version_is_answered_by_it(half):
    assert predict(half, request(half.model, version=1, x=X)).model_spec.version.value == 1


@pytest.mark.contract("G6")
@pytest.mark.parametrize("signature", ["", "serving_default"])
def test_the_default_signature_is_used_with_and_without_its_name(half, signature):
    assert predict(half, request(half.model, signature, x=X)).model_spec.signature_name == "serving_default"


@pytest.mark.contract("G7")
@pytest.mark.parametrize("names", [["label"], ["probabilities"], ["label", "probabilities"], []])
def test_the_output_filter_selects_outputs(digits, names):
    proto = request(digits.model, image=np.zeros((2, 8, 8, 1), np.float32))
    proto.output_filter.extend(names)
    assert set(predict(digits, proto).outputs) == set(names or ["label", "probabilities"])


@pytest.mark.contract("G7")
def test_the_output_filter_may_have_any_order(digits):
    proto = request(digits.model, image=np.zeros((2, 8, 8, 1), np.float32))
    proto.output_filter.extend(["probabilities", "label"])
    outputs = predict(digits, proto).outputs
    assert len(outputs["probabilities"].float_val) == 20 and len(outputs["label"].int64_val) == 2


@pytest.mark.contract("G10")
@pytest.mark.parametrize("shape", [(3,), (2, 2), (), (0,), (0, 1), (2, 1), (1, 2, 3)])
def test_every_shape_that_the_graph_accepts_is_answered(examples, shape):
    """The signature says [-1, 1]. TensorFlow Serving compares no shapes: PreProcessPrediction in predict_util.cc."""
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    y = tf.make_ndarray(predict(examples, request(examples.model, x=x)).outputs["y"])
    assert y.shape == shape
    np.testing.assert_array_equal(y, x / 2 + 2)


@pytest.mark.contract("G10")
@pytest.mark.parametrize("shape", [(3,), (), (2, 8, 8), (1, 8, 8), (1, 1, 8, 8, 1)])
def test_the_op_that_rejects_a_shape_is_named(digits, shape):
    code, text = call_error(digits.predictions.Predict, request(digits.model, image=np.zeros(shape, np.float32)))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert 'op "' in text and 'node "' in text


@pytest.mark.contract("G10")
def test_an_input_without_rows_gets_an_answer_without_rows(digits):
    outputs = predict(digits, request(digits.model, image=np.zeros((0, 8, 8, 1), np.float32))).outputs
    assert tf.make_ndarray(outputs["probabilities"]).shape == (0, 10)


@pytest.mark.contract("G10")
def test_a_signature_without_shapes_takes_every_shape(tmp_path):
    """Exports of TensorFlow 1.0 have no tensor_shape."""
    change_model(tmp_path / "models", "half_plus_two_tf1", lambda graph: graph.signature_def["serving_default"].inputs[
        "x"].ClearField("tensor_shape"))
    with running_node(tmp_path, "m", tmp_path / "models") as started:
        assert list(predict(started.serving(), request("m", x=X)).outputs["y"].float_val) == [3, 4]


@pytest.mark.contract("G13")
@pytest.mark.parametrize("given, name", [(np.float64, "double"), (np.int64, "int64")])
def test_another_type_than_the_graphs_is_rejected_with_tensorflows_text(half, given, name):
    """FunctionCallFrame::SetArgs of TensorFlow's function.cc."""
    code, text = call_error(half.predictions.Predict, request(half.model, x=np.array([1], given)))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert text.startswith(f"Expects arg[0] to be float but {name} is provided") and 'input "x"' in text


@pytest.mark.contract("G13")
def test_the_type_of_the_graph_counts_and_not_that_of_the_signature(tmp_path):
    change_model(tmp_path / "models", "half_plus_two_tf1", lambda graph: setattr(
        graph.signature_def["serving_default"].inputs["x"], "dtype", tf.string.as_datatype_enum))
    with running_node(tmp_path, "m", tmp_path / "models") as started:
        assert list(predict(started.serving(), request("m", x=X)).outputs["y"].float_val) == [3, 4]


@pytest.mark.contract("L17")
@pytest.mark.parametrize("model, is_read", [("half_plus_two_tf1", False), ("strings", True)])
def test_a_missing_asset_fails_the_load_only_if_it_is_read(tmp_path, model, is_read):
    """TensorFlow's loader feeds the path and reads nothing: AddAssetsTensorsToInputs of loader.cc."""
    def name_missing(graph):
        asset = graph.asset_file_def[0] if is_read else graph.asset_file_def.add()
        asset.filename = "missing.txt"
        asset.tensor_info.name = asset.tensor_info.name or "x:0"
    change_model(tmp_path / "models", model, name_missing)
    with running_node(tmp_path, "m", tmp_path / "models", "--max_num_load_retries=0") as node:
        if is_read:
            assert "missing.txt" in node.refusal()
        else:
            node.serving()


@pytest.mark.contract("G8")
def test_outputs_are_in_typed_fields(digits, strings):
    outputs = predict(digits, request(digits.model, image=np.zeros((2, 8, 8, 1), np.float32))).outputs
    assert len(outputs["probabilities"].float_val) == 20 and not outputs["probabilities"].tensor_content
    assert len(outputs["label"].int64_val) == 2
    outputs = predict(strings, request(strings.model, word=np.array([b"one"], object))).outputs
    assert list(outputs["greeting"].string_val) == [b"hello one"]
    assert list(outputs["length"].int_val) == [3]


@pytest.mark.contract("G8")
def test_outputs_are_tensor_content_with_the_flag(packed):
    outputs = predict(packed, request(packed.model, image=np.zeros((2, 8, 8, 1), np.float32))).outputs
    assert len(outputs["probabilities"].tensor_content) == 80 and not outputs["probabilities"].float_val
    np.testing.assert_allclose(tf.make_ndarray(outputs["probabilities"]).sum(axis=1), [1, 1], rtol=1e-5)


@pytest.mark.contract("G9")
@pytest.mark.parametrize("tensor, want", [
    (floats([2], float_val=[2, 4]), [3, 4]),
    (floats([2], tensor_content=X.tobytes()), [3, 4]),
    (floats([3], float_val=[2]), [3, 3, 3]),
    (floats([3], float_val=[2, 4]), [3, 4, 4]),
    (floats([0]), []),
])
def test_inputs_may_have_every_form_of_a_tensor(half, tensor, want):
    answer = predict(half, request(half.model, x=tensor))
    np.testing.assert_array_equal(tf.make_ndarray(answer.outputs["y"]), want)


@pytest.mark.contract("G11")
def test_a_deadline_limits_the_run(slow):
    with pytest.raises(grpc.RpcError) as caught:
        slow.predictions.Predict(request(slow.model, x=X), timeout=0.1)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.contract("G12")
def test_a_long_error_text_is_cut(half):
    code, text = call_error(half.predictions.Predict, request("x" * 5000, x=X))
    assert code == grpc.StatusCode.NOT_FOUND
    assert text == ("Servable not found for request: Latest(" + "x" * 5000)[:1024] + "...TRUNCATED"


@pytest.mark.contract("G8", "G9")
@pytest.mark.parametrize("dtype, values", [
    ("float16", [1.5, -2]), ("bfloat16", [1.5, -2]), ("float32", [1.5, float("inf")]), ("float64", [1e300, -0.0]),
    ("int8", [-128, 127]), ("int16", [-32768, 32767]), ("int32", [-(2**31), 2**31 - 1]), ("int64", [-(2**63), 2**63 - 1]),
    ("uint8", [0, 255]), ("uint32", [0, 2**32 - 1]), ("uint64", [0, 2**64 - 1]), ("bool", [True, False]),
    ("string", [b"", b"\xff\x00"])])
@pytest.mark.parametrize("as_content", [False, True])
def test_inputs_and_outputs_may_have_every_type(types, dtype, values, as_content):
    array = np.array(values, object if dtype == "string" else tf.as_dtype(dtype).as_numpy_dtype)
    tensor = tf.make_tensor_proto(array, tf.as_dtype(dtype))
    if as_content and dtype != "string":
        tensor = tensor_pb2.TensorProto(dtype=tensor.dtype, tensor_shape=tensor.tensor_shape, tensor_content=array.tobytes())
    got = tf.make_ndarray(predict(types, request(types.model, dtype, x=tensor)).outputs["y"])
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


@pytest.mark.contract("G8", "G9")
@pytest.mark.parametrize("dtype, values", [
    ("qint8", [-128, 127]), ("quint8", [0, 255]), ("qint16", [-32768, 32767]), ("quint16", [0, 65535]),
    ("qint32", [-(2**31), 2**31 - 1])])
def test_inputs_and_outputs_may_have_quantized_types(types, dtype, values):
    tf_type = tf.as_dtype(dtype)
    array = np.array(values, tf_type.as_numpy_dtype)
    packed, single = tf.make_tensor_proto(array), tf.make_tensor_proto(array[:1])
    fields = tensor_pb2.TensorProto(dtype=tf_type.as_datatype_enum, tensor_shape=packed.tensor_shape, int_val=values)
    assert packed.tensor_content == array.tobytes() and list(single.int_val) == values[:1]
    for sent, want in [(packed, fields), (fields, fields), (single, single)]:
        assert predict(types, request(types.model, dtype, x=sent)).outputs["y"] == want


@pytest.mark.contract("E7")
def test_a_tensor_of_another_type_is_rejected(types):
    code, text = call_error(types.predictions.Predict, request(types.model, "int32", x=X))
    assert code == grpc.StatusCode.INVALID_ARGUMENT and "x" in text


@pytest.mark.contract("E1")
def test_a_prediction_must_name_its_model(half):
    no_spec = predict_pb2.PredictRequest()
    assert call_error(half.predictions.Predict, no_spec) == (grpc.StatusCode.INVALID_ARGUMENT, "Missing ModelSpec")
    assert call_error(half.predictions.Predict, request("", x=X)) == (
        grpc.StatusCode.INVALID_ARGUMENT, "ModelSpec has no name specified.")


@pytest.mark.contract("E1")
@pytest.mark.parametrize("method, message", [
    ("Classify", classification_pb2.ClassificationRequest), ("Regress", regression_pb2.RegressionRequest),
    ("GetModelMetadata", get_model_metadata_pb2.GetModelMetadataRequest)])
def test_a_request_of_every_method_must_name_its_model(half, method, message):
    assert call_error(getattr(half.predictions, method), message()) == (grpc.StatusCode.INVALID_ARGUMENT, "Missing ModelSpec")


@pytest.mark.contract("E2", "E3", "E4")
@pytest.mark.parametrize("spec, code, text", [
    (dict(model="x"), grpc.StatusCode.NOT_FOUND, "Servable not found for request: Latest(x)"),
    (dict(model="x", version=3), grpc.StatusCode.NOT_FOUND, "Servable not found for request: Specific(x, 3)"),
    (dict(model="half_plus_two_tf1", version=9), grpc.StatusCode.NOT_FOUND,
     "Servable not found for request: Specific(half_plus_two_tf1, 9)"),
    (dict(model="half_plus_two_tf1", label="canary"), grpc.StatusCode.INVALID_ARGUMENT,
     "Unrecognized servable version label: canary"),
])
def test_an_unknown_model_version_or_label_is_named(half, spec, code, text):
    assert call_error(half.predictions.Predict, request(**spec, x=X)) == (code, text)


@pytest.mark.contract("E5")
def test_an_unknown_signature_is_named(half):
    assert call_error(half.predictions.Predict, request(half.model, "other", x=X)) == (
        grpc.StatusCode.FAILED_PRECONDITION, 'Serving signature key "other" not found.')


@pytest.mark.contract("E6")
@pytest.mark.parametrize("inputs, text", [
    ({}, "input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. Missing but required: {x}."),
    (dict(z=X), "input size does not match signature: 1!=1 len({z}) != len({x}). Sent extra: {z}. Missing but required: {x}."),
    (dict(x=X, z=X), "input size does not match signature: 2!=1 len({x,z}) != len({x}). Sent extra: {z}. Missing but required: {}."),
])
def test_missing_and_extra_inputs_are_named(half, inputs, text):
    assert call_error(half.predictions.Predict, request(half.model, **inputs)) == (grpc.StatusCode.INVALID_ARGUMENT, text)


@pytest.mark.contract("E7")
@pytest.mark.parametrize("tensor", [
    floats([3], float_val=[1, 2, 3, 4]),
    floats([2], tensor_content=b"123"),
    floats([-1], float_val=[1]),
    floats([1 << 40, 1 << 40]),
], ids=["too many values", "half a value", "an unknown size", "an overflow"])
def test_a_tensor_that_cannot_be_parsed_is_named(half, tensor):
    code, text = call_error(half.predictions.Predict, request(half.model, x=tensor))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert text.startswith("tensor parsing error: x")


@pytest.mark.contract("E8")
@pytest.mark.parametrize("names, text", [
    (["z"], "output tensor alias not found in signature: z"),
    (["y", "y"], "duplicate output tensor alias: y"),
])
def test_an_invalid_output_filter_is_named(half, names, text):
    proto = request(half.model, x=X)
    proto.output_filter.extend(names)
    code, details = call_error(half.predictions.Predict, proto)
    assert code == grpc.StatusCode.INVALID_ARGUMENT and details.startswith(text)


# -------------------------------------------------------------------------------------------------- Classify, Regress

def examples_request(message, node, signature: str, *rows, context=None):
    proto = message()
    proto.model_spec.name = node.model
    proto.model_spec.signature_name = signature
    if context is None:
        proto.input.example_list.examples.extend(rows)
    else:
        proto.input.example_list_with_context.examples.extend(rows)
        proto.input.example_list_with_context.context.CopyFrom(context)
    return proto


def regress(node, signature, *rows, context=None):
    proto = examples_request(regression_pb2.RegressionRequest, node, signature, *rows, context=context)
    return node.predictions.Regress(proto, timeout=SECONDS)


def classify(node, signature, *rows):
    return node.predictions.Classify(examples_request(classification_pb2.ClassificationRequest, node, signature, *rows), timeout=SECONDS)


@pytest.mark.contract("C1", "C4", "G5")
def test_regress_answers_one_value_for_each_example(examples):
    answer = regress(examples, "regress_x", example(x=2), example(x=-4), example(x=10, x2=5))
    assert [one.value for one in answer.result.regressions] == [3, 0, 7]
    assert (answer.model_spec.version.value, answer.model_spec.signature_name) == (1, "regress_x")


@pytest.mark.contract("C1", "C3")
def test_classify_answers_label_and_score(examples):
    answer = classify(examples, "classify_x", example(x=2), example(x=-40))
    assert [[(c.label, c.score) for c in one.classes] for one in answer.result.classifications] == [
        [("above", 3)], [("below", -18)]]


@pytest.mark.contract("C3")
def test_a_classification_may_have_only_scores(examples):
    answer = classify(examples, "classify_scores", example(x=2))
    assert [(c.label, c.score) for c in answer.result.classifications[0].classes] == [("", 3)]


@pytest.mark.contract("C2")
def test_the_context_is_added_to_every_example(examples):
    answer = regress(examples, "regress_x2", example(x=0), example(x=0, x2=8), context=example(x2=4))
    assert [one.value for one in answer.result.regressions] == [4, 6]


@pytest.mark.contract("C1")
def test_an_error_of_the_model_about_an_example_is_returned(examples):
    proto = examples_request(regression_pb2.RegressionRequest, examples, "regress_x", tf.train.Example())
    code, text = call_error(examples.predictions.Regress, proto)
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "Feature: x (data type: " in text and "is required but could not be found" in text


@pytest.mark.contract("C5")
@pytest.mark.parametrize("method, message, signature", [
    ("Regress", regression_pb2.RegressionRequest, "classify_x"),
    ("Classify", classification_pb2.ClassificationRequest, "regress_x"),
    ("Classify", classification_pb2.ClassificationRequest, "serving_default")])
def test_a_signature_with_unsuitable_outputs_is_rejected(examples, method, message, signature):
    code, _ = call_error(getattr(examples.predictions, method), examples_request(message, examples, signature, example(x=1)))
    assert code == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.contract("E9", "E10")
@pytest.mark.parametrize("method, message", [
    ("Regress", regression_pb2.RegressionRequest), ("Classify", classification_pb2.ClassificationRequest)])
def test_an_unknown_signature_and_an_empty_input_are_reported(examples, method, message):
    call = getattr(examples.predictions, method)
    assert call_error(call, examples_request(message, examples, "none", example(x=1))) == (
        grpc.StatusCode.INVALID_ARGUMENT, "No signature was found with the name: none")
    signature = "regress_x" if method == "Regress" else "classify_x"
    assert call_error(call, examples_request(message, examples, signature)) == (grpc.StatusCode.INVALID_ARGUMENT, "Input is empty.")


# ------------------------------------------------------------------------------------------------- Models and metadata

def status_of(node, model: str, version: int | None = None, label: str = ""):
    proto = get_model_status_pb2.GetModelStatusRequest()
    proto.model_spec.name = model
    if version is not None:
        proto.model_spec.version.CopyFrom(wrappers_pb2.Int64Value(value=version))
    if label:
        proto.model_spec.version_label = label
    return proto


@pytest.mark.contract("E12", "L3")
def test_the_status_of_a_model_and_of_a_version_is_returned(half):
    for proto in (status_of(half, half.model), status_of(half, half.model, 1), status_of(half, half.model, label="x")):
        statuses = half.models.GetModelStatus(proto, timeout=SECONDS).model_version_status
        assert [(one.version, one.state, one.status.error_code) for one in statuses] == [
            (1, get_model_status_pb2.ModelVersionStatus.AVAILABLE, 0)]


@pytest.mark.contract("E12")
@pytest.mark.parametrize("model, version, text", [
    ("half_plus_two_tf1", 7, "Could not find version 7 of model half_plus_two_tf1"),
    ("other", None, "Could not find any versions of model other")])
def test_the_status_of_an_unknown_model_or_version_is_not_found(half, model, version, text):
    assert call_error(half.models.GetModelStatus, status_of(half, model, version)) == (grpc.StatusCode.NOT_FOUND, text)


def metadata_of(model: str, *fields: str):
    proto = get_model_metadata_pb2.GetModelMetadataRequest()
    proto.model_spec.name = model
    proto.metadata_field.extend(fields)
    return proto


@pytest.mark.contract("E13", "G1")
def test_the_metadata_contain_the_signatures(examples):
    answer = examples.predictions.GetModelMetadata(metadata_of(examples.model, "signature_def"), timeout=SECONDS)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(signatures)
    assert set(signatures.signature_def) == {"serving_default", "regress_x", "regress_x2", "classify_x", "classify_scores"}
    assert signatures.signature_def["regress_x"].method_name == "tensorflow/serving/regress"
    assert answer.model_spec.version.value == 1


@pytest.mark.contract("E13")
@pytest.mark.parametrize("fields, text", [
    ([], "GetModelMetadataRequest must specify at least one metadata_field"),
    (["variables"], "Metadata field variables is not supported"),
    (["signature_def", "x"], "Metadata field x is not supported")])
def test_other_metadata_are_rejected(half, fields, text):
    assert call_error(half.predictions.GetModelMetadata, metadata_of(half.model, *fields)) == (
        grpc.StatusCode.INVALID_ARGUMENT, text)
