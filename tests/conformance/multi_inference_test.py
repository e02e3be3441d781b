"""MultiInference: several signatures of one model, from the same examples, in one run."""

import re
import urllib.request

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, call_error, example, predict, request
from grpc_test import examples_request
from serving import running_node
from tensorflow_serving.apis import classification_pb2, inference_pb2, regression_pb2


def multi_inference(node, *tasks, rows=(example(x=2, x2=4),)):
    proto = inference_pb2.MultiInferenceRequest()
    for model, signature, method in tasks:
        task = proto.tasks.add(method_name=f"tensorflow/serving/{method}")
        task.model_spec.name = model or node.model
        task.model_spec.signature_name = signature
    proto.input.example_list.examples.extend(rows)
    return proto


@pytest.mark.contract("C6")
def test_multi_inference_answers_its_tasks_in_order(examples):
    proto = multi_inference(examples, ("", "regress_x2", "regress"), ("", "classify_x", "classify"), ("", "regress_x", "regress"))
    results = examples.predictions.MultiInference(proto, timeout=SECONDS).results
    assert [one.model_spec.signature_name for one in results] == ["regress_x2", "classify_x", "regress_x"]
    assert results[0].regression_result.regressions[0].value == 4
    assert results[1].classification_result.classifications[0].classes[0].label == "above"
    assert results[2].regression_result.regressions[0].value == 3


def graph_runs(node) -> float:
    text = urllib.request.urlopen(f"{node.admin_url}/metrics", timeout=SECONDS).read().decode()
    found = re.search(r"^:tensorflow:core:graph_runs (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0  # A counter appears with its first value.


@pytest.mark.contract("C6")
@pytest.mark.parametrize("model, classifies, regresses", [("examples_tf1", "classify_x", "regress_x2"),
                                                          ("examples_tf2", "classify", "serving_default")])
def test_multi_inference_is_one_run_and_answers_as_classify_and_regress(tmp_path, model, classifies, regresses):
    rows = [example(x=2, x2=4), example(x=-3, x2=1)]
    with running_node(tmp_path, model, MODELS / model) as node:
        node.serving()
        proto = multi_inference(node, ("", classifies, "classify"), ("", regresses, "regress"), rows=rows)
        before = graph_runs(node)
        together = node.predictions.MultiInference(proto, timeout=SECONDS).results
        assert graph_runs(node) == before + 1
        classify = examples_request(classification_pb2.ClassificationRequest, node, classifies, *rows)
        regress = examples_request(regression_pb2.RegressionRequest, node, regresses, *rows)
        assert together[0].classification_result == node.predictions.Classify(classify, timeout=SECONDS).result
        assert together[1].regression_result == node.predictions.Regress(regress, timeout=SECONDS).result
        assert [one.model_spec.version.value for one in together] == [1, 1]


@pytest.mark.contract("C8", "E8")
def test_a_predict_may_ask_for_the_outputs_of_several_signatures_of_examples(examples):
    made = request(examples.model, inputs=np.array([example(x=2, x2=4).SerializeToString()], object))
    made.model_spec.signature_name = "regress_x"
    made.output_filter.extend(["classify_x/classes", "regress_x2/outputs"])
    outputs = predict(examples, made).outputs
    assert list(outputs["classify_x/classes"].string_val) == [b"above"]
    assert list(outputs["regress_x2/outputs"].float_val) == [4]
    made.output_filter[:] = ["serving_default/y"]  # Its input is a number.
    code, text = call_error(examples.predictions.Predict, made)
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert text.startswith("output tensor alias not found in signature: serving_default/y")


@pytest.mark.contract("E11")
@pytest.mark.parametrize("tasks, code", [
    ([("", "regress_x", "regress"), ("other", "regress_x2", "regress")], grpc.StatusCode.INVALID_ARGUMENT),
    ([("", "regress_x", "regress"), ("", "regress_x", "regress")], grpc.StatusCode.INVALID_ARGUMENT),
    ([("", "serving_default", "predict")], grpc.StatusCode.UNIMPLEMENTED),
    ([], grpc.StatusCode.INVALID_ARGUMENT),
], ids=["two models", "a signature twice", "another method", "no task"])
def test_tasks_that_cannot_run_together_are_rejected(examples, tasks, code):
    assert call_error(examples.predictions.MultiInference, multi_inference(examples, *tasks))[0] == code
