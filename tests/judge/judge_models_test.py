"""Every committed model and version gives TensorFlow's numbers over gRPC and REST."""

import shutil
import time

import numpy as np
import pytest
import tensorflow as tf

import judging
import needed_ops
from serving import ROOT, START_SECONDS, State, running_node

MODELS = ROOT / "tests" / "models"
VERSIONS = [str(path.relative_to(MODELS)) for path in needed_ops.version_dirs(MODELS)]
BATCHES = (1, 3, 32)


def _images() -> np.ndarray:
    """Returns images [n, 8, 8, 1]: four without ink at the left, an empty and a full one, noise, then real ones."""
    traffic = np.fromfile(MODELS / "digits/traffic.f32", "<f4").reshape(-1, 8, 8, 1)
    empty_left = [int(line) for line in (MODELS / "digits/traffic_nan.txt").read_text().split()]
    noise = np.random.default_rng(7).random((8, 8, 8, 1), dtype=np.float32)
    extremes = np.stack([np.zeros((8, 8, 1), np.float32), np.ones((8, 8, 1), np.float32)])
    return np.concatenate([traffic[empty_left[:4]], extremes, noise, traffic[:40]])


def _numbers() -> np.ndarray:
    """Returns edge cases, random numbers, and last huge numbers: the tolerance is relative to the largest value of a batch, so huge
    numbers would hide the errors of other numbers in their batch."""
    edges, huge = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40], [3e38, -3e38]
    return np.array(edges + list(np.random.default_rng(8).normal(0, 2, 32)) + huge, np.float32)


def _words() -> np.ndarray:
    return np.array([b"One", b"TWO", b"nine", b"", b"ten", "\u00c9t\u00e9".encode(), b"zero ", b"seven"] * 6, object)


def _examples() -> np.ndarray:
    """Returns serialized tf.Examples with different combinations of the features, some of them empty."""
    made = []
    for index, x in enumerate(_numbers()):
        example = tf.train.Example()
        if index % 3:
            example.features.feature["x"].float_list.value.append(x)
        if index % 4 < 2:
            example.features.feature["more"].float_list.value.extend(float(i) for i in range(index % 5))
        made.append(example.SerializeToString())
    return np.array(made, object)


def inputs_of(model: str) -> judging.Tensors:
    if model == "digits":
        return {"image": _images()}
    if model == "digits_bytes":
        pixels = (_images() * 16).round().astype(np.uint8)
        return {"image_bytes": np.array([image.tobytes() for image in pixels], object)}
    if model == "examples_tf1":
        return {"x": _numbers()[:, None]}
    if model == "examples_tf2":
        return {"inputs": _examples()}
    return {"word": _words()} if model == "strings" else {"x": _numbers()}


@pytest.fixture(scope="module", params=VERSIONS)
def served(request, tmp_path_factory):
    """Yields (node, judge, inputs) for one version, which is the only one in its base path."""
    model, version = request.param.split("/")
    scratch = tmp_path_factory.mktemp(model)
    shutil.copytree(MODELS / request.param, scratch / "base" / version)
    with running_node(scratch, model, scratch / "base") as node:
        yield node.serving(), judging.Judge(MODELS / request.param), inputs_of(model)


@pytest.mark.parametrize("batch", BATCHES)
def test_a_committed_model_gives_tensorflows_answers_over_grpc(served, batch):
    node, judge, inputs = served
    for start in range(0, 40, batch):
        judging.judge_grpc(node, judge, {name: value[start:start + batch] for name, value in inputs.items()})


@pytest.mark.parametrize("batch", BATCHES)
def test_a_committed_model_gives_tensorflows_answers_over_rest(served, batch):
    node, judge, inputs = served
    judging.judge_rest(node, judge, {name: value[:batch] for name, value in inputs.items()})


def test_the_latest_version_in_a_folder_is_served(tmp_path):
    images = {"image": _images()[:8]}
    with running_node(tmp_path, "digits", MODELS / "digits") as node:
        judging.assert_same(node.serving().predict(images), judging.Judge(MODELS / "digits/5").predict(images))
        assert [status.version for status in node.statuses() if status.state == State.AVAILABLE] == [5]


def test_a_new_version_takes_over_without_a_failed_request(tmp_path):
    base = tmp_path / "base"
    shutil.copytree(MODELS / "half_plus_two_tf2/1", base / "1")
    shutil.copytree(MODELS / "half_plus_three_tf2/1", tmp_path / "2")
    with running_node(tmp_path, "line", base) as node:
        x = {"x": np.array([2], np.float32)}
        assert node.serving().predict(x)["y"] == [3]
        (tmp_path / "2").rename(base / "2")
        deadline = time.monotonic() + START_SECONDS
        while (answer := node.predict(x)["y"]) != [4]:
            assert answer == [3] and time.monotonic() < deadline
        assert node.predict(x)["y"] == [4]


def test_the_metadata_names_all_inputs_and_outputs(served):
    node, judge, inputs = served
    status, text = node.rest(f"/v1/models/{node.model}/metadata")
    assert status == 200
    for name in [*inputs, *judge.predict({name: value[:1] for name, value in inputs.items()})]:
        assert f'"{name}"' in text
