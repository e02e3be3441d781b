"""Runs models in TensorFlow, and compares answers with it."""

import base64
import pathlib

import numpy as np
import tensorflow as tf

from serving import Node, Tensors

TOLERANCE = 1e-5  # Relative to the largest absolute value of the output, or to 1 if that is smaller.


class Judge:
    """A SavedModel that TensorFlow has loaded and runs."""

    def __init__(self, version_dir: pathlib.Path):
        self._model = tf.saved_model.load(str(version_dir))
        self._serve = self._model.signatures["serving_default"]

    def predict(self, inputs: Tensors) -> Tensors:
        outputs = self._serve(**{name: tf.constant(value) for name, value in inputs.items()})
        return {name: value.numpy() for name, value in outputs.items()}


def assert_same(got: Tensors, want: Tensors) -> None:
    assert got.keys() == want.keys()
    for name in want:
        _assert_same_tensor(name, got[name], np.asarray(want[name]))


def _assert_same_tensor(name: str, got: np.ndarray, want: np.ndarray) -> None:
    assert got.shape == want.shape, name
    assert got.dtype == want.dtype, name
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, name)
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite], name)  # NaN must be NaN; infinities must have the same sign.
    if finite.any():
        limit = TOLERANCE * max(1.0, np.abs(want[finite].astype(np.float64)).max())
        worst = np.abs(got[finite].astype(np.float64) - want[finite]).max()
        assert worst <= limit, f"{name}: off by {worst}, the limit is {limit}"


def judge_grpc(node: Node, judge: Judge, inputs: Tensors) -> None:
    assert_same(node.predict(inputs), judge.predict(inputs))


def _to_json(value):
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    return [_to_json(v) for v in value] if isinstance(value, list) else value


def _from_json(rows: list, like: np.ndarray) -> np.ndarray:
    if like.dtype == object:
        return np.array([row.encode() for row in rows], dtype=object).reshape(like.shape)
    return np.array(rows, dtype=like.dtype).reshape(like.shape)


def judge_rest(node: Node, judge: Judge, inputs: Tensors) -> None:
    """Compares REST answers to the row format and to the column format. As in TensorFlow Serving, a single output has no name."""
    want = judge.predict(inputs)
    columns = {name: _to_json(value.tolist()) for name, value in inputs.items()}
    status, answer = node.rest_predict({"inputs": columns})
    assert status == 200, answer
    outputs = answer["outputs"] if len(want) > 1 else {name: answer["outputs"] for name in want}
    assert_same({name: _from_json(outputs[name], value) for name, value in want.items()}, want)

    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    status, answer = node.rest_predict({"instances": rows})
    assert status == 200, answer
    predictions = answer["predictions"]
    if len(want) == 1:
        predictions = [{name: row} for row in predictions for name in want]
    assert_same({name: _from_json([row[name] for row in predictions], value) for name, value in want.items()}, want)
