"""The committed models have the properties in tests/models/README.md, on which the tests of rollouts rely."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tensorflow_serving.apis import prediction_log_pb2

import judging
import needed_ops
from serving import ROOT

DIGITS = ROOT / "tests" / "models" / "digits"
VERSIONS = (1, 2, 3, 4, 5)


def _logs(path):
    return [prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log
            for record in tf.data.TFRecordDataset(str(path))]


def _traffic() -> np.ndarray:
    return np.fromfile(DIGITS / "traffic.f32", "<f4").reshape(-1, 8, 8, 1)


@pytest.fixture(scope="module")
def judges():
    return {version: judging.Judge(DIGITS / str(version)) for version in VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
def test_all_versions_except_the_mislabelled_one_pass_the_golden_set(judges, version):
    logs = _logs(DIGITS / "golden" / "golden.tfrecord")
    images = np.concatenate([tf.make_ndarray(log.request.inputs["image"]) for log in logs])
    truth = np.concatenate([tf.make_ndarray(log.response.outputs["label"]) for log in logs])
    one_hot = np.concatenate([tf.make_ndarray(log.response.outputs["probabilities"]) for log in logs])
    answer = judges[version].predict({"image": images})
    assert len(logs) == 200 and np.array_equal(one_hot.argmax(axis=1), truth)
    assert np.isfinite(answer["probabilities"]).all()
    top1 = np.mean(answer["label"] == truth)
    assert top1 < 0.2 if version == 3 else top1 >= 0.95


def test_only_version_4_answers_traffic_with_nan_and_the_list_names_the_images(judges):
    broken = [int(line) for line in (DIGITS / "traffic_nan.txt").read_text().split()]
    traffic = _traffic()
    assert 0.02 <= len(broken) / len(traffic) <= 0.05
    for version, judge in judges.items():
        finite = np.isfinite(judge.predict({"image": traffic})["probabilities"]).all(axis=1)
        assert list(np.flatnonzero(~finite)) == (broken if version == 4 else [])


def test_traffic_is_disjoint_from_the_golden_set():
    golden = {log.request.inputs["image"].tensor_content or tf.make_ndarray(log.request.inputs["image"]).tobytes()
              for log in _logs(DIGITS / "golden" / "golden.tfrecord")}
    assert golden.isdisjoint(image.tobytes() for image in _traffic())


def test_version_5_answers_as_version_2(judges):
    images = {"image": _traffic()}
    judging.assert_same(judges[5].predict(images), judges[2].predict(images))


def _flops(version: int) -> int:
    """Returns the floating-point operations for one image, after all constants have been folded."""
    model = tf.saved_model.load(str(DIGITS / str(version)))  # Keeps its variables alive.
    serve = model.signatures["serving_default"]
    one = tf.function(lambda image: serve(image=image)).get_concrete_function(tf.TensorSpec([1, 8, 8, 1]))
    frozen = convert_variables_to_constants_v2(one)
    options = tf.compat.v1.profiler.ProfileOptionBuilder(
        tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()).with_empty_output().build()
    return tf.compat.v1.profiler.profile(frozen.graph, options=options).total_float_ops


def test_version_5_needs_five_times_the_operations_of_version_2():
    good, slow = _flops(2), _flops(5)
    assert 1e6 < good < 4e6
    assert 4.5 < slow / good < 5.5


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_warm_up_requests_that_it_can_answer(judges, version):
    logs = _logs(DIGITS / str(version) / "assets.extra" / "tf_serving_warmup_requests")
    images = [tf.make_ndarray(log.request.inputs["image"]) for log in logs]
    assert {1, 8} <= {len(batch) for batch in images}
    for batch in images:
        assert np.isfinite(judges[version].predict({"image": batch})["probabilities"]).all()


@pytest.mark.parametrize("version_dir", needed_ops.version_dirs(DIGITS.parent),
                         ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_tensorflow_1_session_can_run_each_model(version_dir):
    """Servers do not read the object graph: they run the restore function and the initialiser of the graph, as a session does."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        signature = tf.compat.v1.saved_model.load(session, ["serve"], str(version_dir)).signature_def["serving_default"]
        (x, ) = signature.inputs.values()
        shape = [max(dimension.size, 1) for dimension in x.tensor_shape.dim] or [1]
        text = b"" if version_dir.parent.name.startswith("examples") else b"\1" * 64  # An empty tf.Example, or 64 pixels.
        value = np.array([text], object) if x.dtype == tf.string else np.ones(shape)
        for output in signature.outputs.values():
            assert session.run(output.name, {x.name: value}).shape[0] == 1


def test_every_version_is_small():
    for version_dir in (path.parent for path in DIGITS.parent.glob("*/*/saved_model.pb")):
        assert sum(file.stat().st_size for file in version_dir.rglob("*") if file.is_file()) < 2**20, version_dir
