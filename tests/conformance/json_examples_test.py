"""JSON bodies of classify and regress: their examples and context."""

import pytest
from rest_test import HALF, ask

EXAMPLE_ERROR = "Feature: names has element with unexpected JSON type: "


@pytest.mark.contract("J14", "J15")
@pytest.mark.parametrize("method", ["classify", "regress"])
@pytest.mark.parametrize("body, error", [
    ({"examples": [{"names": [1, 2.5]}]}, "Unexpected element type in feature: names expecting type: int64"),
    ({"examples": [{"names": ["x", 1]}]}, "Unexpected element type in feature: names expecting type: bytes"),
    ({"examples": [{"names": 2**63}]}, "Feature: names has uint64_t element. Only int64_t is supported."),
    ({"examples": [{"names": None}]}, EXAMPLE_ERROR + "Null"), ({"examples": [{"names": {"a": 1}}]}, EXAMPLE_ERROR + "Object"),
    ({"examples": [{"names": [[1]]}]}, EXAMPLE_ERROR + "Array"),
    ({"examples": [[1]]}, "Example must be JSON object but got JSON Array"),
    ({"context": [1]}, "Example must be JSON object but got JSON Array"),
    ({"context": {}}, "When method is classify, key 'examples' is expected and was not found"),
    ({"examples": {}}, "Expecting 'examples' value to be an list/array"), ({"examples": []}, "'examples' value is an empty array")])
def test_an_invalid_example_is_reported_in_tensorflow_servings_words(half, method, body, error):
    """The texts of FillClassifyRegressRequestFromJson, MakeExampleFromJsonObject and AddValueToFeature in json_tensor.cc."""
    answer = ask(half, "POST", f"{HALF}:{method}", body)
    assert answer.status == 400 and answer.error.endswith(error)


@pytest.mark.contract("J14", "C2")
def test_a_context_is_added_to_every_example(examples):
    answer = ask(examples, "POST", f"/v1/models/{examples.model}:regress", {
        "signature_name": "regress_x2", "context": {"x2": 4.0}, "examples": [{"x": 0.0}, {"x": 0.0, "x2": 8.0}]})
    assert answer.json == {"results": [4.0, 6.0]}
