"""A model for which the engine was not tuned gives TensorFlow's numbers or is rejected with the unsupported op, never wrong numbers."""

import grpc
import pytest
import tensorflow as tf

import judging
import needed_ops
from serving import State, running_node
from shared_nodes import shared_nodes
from unseen import UNSEEN, VECTOR, Unseen
from unseen_control import CONTROL, MAY_BE_REJECTED

UNSEEN |= CONTROL

# Common building blocks of models: rejecting one of these is a defect, too.
EVERYDAY = {"dense_relu", "dense_relu6", "dense_elu", "dense_tanh", "dense_sigmoid", "dense_softmax_v2", "batch_norm",
            "conv_dilated", "max_pool", "average_pool", "global_average", "reduce_sum", "concat", "gather", "transpose",
            "slices", "where", "one_hot", "integer_arithmetic", "attention", "layer_norm",
            "keras_cnn", "keras_embedding", "looped", "branched", "keras_gru", "keras_lstm", "suppressed", "drawn",
            *(CONTROL.keys() - MAY_BE_REJECTED),
            *(name for name in UNSEEN if name.startswith("random_") or name.startswith("conv_") and name[5].isdigit())}


def _assert_names_a_missing_op(message: str, version_dir) -> None:
    needed = set().union(*needed_ops.ops_of(version_dir).values())
    assert any(op in message for op in needed), message


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    with shared_nodes(tmp_path_factory.mktemp("unseen"), {name: model.export for name, model in UNSEEN.items()}) as made:
        yield made


@pytest.mark.parametrize("name", UNSEEN)
def test_an_unseen_model_gives_tensorflows_numbers_or_is_rejected_with_the_op(name, nodes):
    node = nodes.node_of(name)
    status = node.settled()
    if status.state != State.AVAILABLE:
        _assert_names_a_missing_op(status.status.error_message, nodes.version_dir(name))
        assert name not in EVERYDAY, status.status.error_message
        pytest.skip(f"rejected: {status.status.error_message}")
    judge = judging.Judge(nodes.version_dir(name))
    for batch in (1, 3, 32):
        judging.judge_grpc(node, judge, UNSEEN[name].sample(batch))
    judging.judge_rest(node, judge, UNSEEN[name].sample(2))


UNSUPPORTED = {
    "Svd": lambda x: tf.linalg.svd(tf.reshape(x, [-1, 3, 4]), compute_uv=False, name="the_svd"),
    "FFT2D": lambda x: tf.math.real(tf.signal.fft2d(tf.cast(tf.reshape(x, [-1, 3, 4]), tf.complex64), name="the_fft")),
    "ReadFile": lambda x: x + tf.cast(tf.strings.length(tf.io.read_file("/etc/hostname", name="the_file")), tf.float32),
}


@pytest.mark.parametrize("op", UNSUPPORTED)
def test_an_unsupported_op_fails_the_load_with_op_and_node(op, tmp_path):
    Unseen(UNSUPPORTED[op], VECTOR).export(tmp_path / "base" / "1")
    with running_node(tmp_path, "odd", tmp_path / "base") as node:
        message = node.refusal()
        assert op in message
        assert "the_" in message, "the node is not named"
        with pytest.raises(grpc.RpcError):
            node.predict(Unseen(UNSUPPORTED[op], VECTOR).sample(1))


def test_one_message_names_all_missing_ops(tmp_path):
    both = Unseen(lambda x: tf.concat([UNSUPPORTED["Svd"](x), UNSUPPORTED["FFT2D"](x)[:, 0]], -1), VECTOR)
    both.export(tmp_path / "base" / "1")
    with running_node(tmp_path, "odd", tmp_path / "base") as node:
        message = node.refusal()
        assert "Svd" in message and "FFT2D" in message
