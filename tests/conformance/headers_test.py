"""The headers and metadata that a node adds to its answers."""

import numpy as np
import pytest
from calls import SECONDS, request
from rest_test import predict


@pytest.mark.contract("R16")
def test_a_standalone_node_names_the_version_with_rest_and_never_itself(half):
    answer = predict(half, {"instances": [1.0]})
    assert {name.lower(): value for name, value in answer.headers.items() if name.lower().startswith("x-longshore")} == {
        "x-longshore-version": "1"}
    _, call = half.predictions.Predict.with_call(request(half.model, x=np.array([1], np.float32)), timeout=SECONDS)
    assert [name for name, _ in (*call.initial_metadata(), *call.trailing_metadata()) if name.startswith("x-longshore")] == []
