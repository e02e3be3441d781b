"""Small models that were not used to develop the engine. Each is a function of `x`, `i` or both, and is exported for the test."""

import dataclasses
import pathlib
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from judging import Tensors

RANDOM = np.random.default_rng(11)


def _weights(*shape: int) -> tf.Tensor:
    return tf.constant(RANDOM.normal(0, 1 / np.sqrt(np.prod(shape[:-1])), shape).astype(np.float32))


@dataclasses.dataclass
class Unseen:
    function: Callable
    inputs: dict[str, tuple[tf.DType, list[int]]]  # Shapes without the batch dimension.
    layers: Callable[[], list[keras.Layer]] | None = None  # Used instead of `function` if the model has variables.

    def export(self, path: pathlib.Path) -> None:
        signature = [tf.TensorSpec([None, *shape], dtype, name=name) for name, (dtype, shape) in self.inputs.items()]
        module = tf.Module()
        if self.layers:
            keras.utils.set_random_seed(12)
            self.function = keras.Sequential(self.layers())
            self.function(*(tf.zeros([1, *shape], dtype) for dtype, shape in self.inputs.values()))
            module.kept = [variable.value for variable in self.function.variables]
        module.serve = tf.function(lambda *x: {"y": self.function(*x)}, input_signature=signature)
        tf.saved_model.save(module, str(path), signatures=module.serve)

    def sample(self, batch: int) -> Tensors:
        random = np.random.default_rng(batch)

        def values(dtype, shape):
            if dtype.is_integer:
                return random.integers(0, 10, [batch, *shape]).astype(dtype.as_numpy_dtype)
            return random.normal(0, 2, [batch, *shape]).astype(dtype.as_numpy_dtype)
        return {name: values(dtype, shape) for name, (dtype, shape) in self.inputs.items()}


VECTOR = {"x": (tf.float32, [12])}
IMAGE = {"x": (tf.float32, [9, 7, 3])}
SEQUENCE = {"x": (tf.float32, [5, 8])}
NUMBERS = {"i": (tf.int32, [4])}


def _dense(activation: Callable) -> Unseen:
    first, bias, second = _weights(12, 16), _weights(16), _weights(16, 4)
    return Unseen(lambda x: activation(x @ first + bias) @ second, VECTOR)


def _conv(size: int, stride: int, padding: str, dilation: int = 1) -> Unseen:
    kernel, bias = _weights(size, size, 3, 5), _weights(5)
    return Unseen(lambda x: tf.nn.relu(tf.nn.conv2d(x, kernel, stride, padding, dilations=dilation) + bias), IMAGE)


def _random_network(seed: int) -> Unseen:
    """Eight usual steps in a random order, and a classifier on top."""
    random = np.random.default_rng(seed)
    kernels = [tf.constant(random.normal(0, 0.3, [size, size, 3, 3]).astype(np.float32)) for size in (1, 2, 3)]
    bias = tf.constant(random.normal(0, 1, [3]).astype(np.float32))
    steps = [
        *(lambda x, kernel=kernel: tf.nn.conv2d(x, kernel, 1, "SAME") for kernel in kernels),
        lambda x: tf.nn.bias_add(x, bias), lambda x: x * bias - 0.5, tf.nn.relu, tf.nn.tanh, tf.nn.sigmoid,
        lambda x: tf.nn.max_pool2d(x, 2, 1, "SAME"), lambda x: tf.nn.avg_pool2d(x, 3, 1, "SAME"),
        lambda x: x - tf.reduce_mean(x, [1, 2], keepdims=True), lambda x: x + tf.nn.relu(-x), lambda x: x[:, ::-1],
        lambda x: tf.concat([x[..., 1:], x[..., :1]], -1),
        lambda x: tf.pad(x, [[0, 0], [1, 0], [0, 1], [0, 0]])[:, :-1, 1:],
    ]
    chosen = [steps[i] for i in random.integers(0, len(steps), 8)]
    top = tf.constant(random.normal(0, 0.1, [9 * 7 * 3, 10]).astype(np.float32))

    def network(x):
        for step in chosen:
            x = step(x)
        return tf.nn.softmax(tf.reshape(x, [-1, 9 * 7 * 3]) @ top)
    return Unseen(network, IMAGE)


def _attention(x):
    scores = tf.matmul(x, x, transpose_b=True) / tf.sqrt(8.0)
    return tf.matmul(tf.nn.softmax(scores), x)


def _layer_norm(x):
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3)


def _batch_norm(x):
    means = [tf.constant(v, tf.float32) for v in ([1.5, 0.5, -1], [0.1, 0, 2], [0.2, -1, 1], [1, 4, 0.5])]
    return tf.compat.v1.nn.fused_batch_norm(x, *means, epsilon=1e-3, is_training=False)[0]


ACTIVATIONS = (tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.gelu, tf.nn.tanh, tf.nn.sigmoid, tf.nn.softplus,
               tf.nn.softsign, tf.nn.leaky_relu, tf.nn.swish, tf.nn.softmax, tf.nn.log_softmax, tf.exp, tf.abs)


def _suppressed(x):
    """Uses all three outputs of an op."""
    boxes, scores = tf.reshape(x[..., :4], [-1, 4]), tf.reshape(x[..., 4], [-1])
    chosen, of_chosen, count = tf.raw_ops.NonMaxSuppressionV5(
        boxes=boxes, scores=scores, max_output_size=7, iou_threshold=0.5, score_threshold=0.0, soft_nms_sigma=0.0,
        pad_to_max_output_size=True)
    return x[:, 0] + tf.reduce_sum(of_chosen) + tf.cast(count * 100 + tf.reduce_sum(chosen), tf.float32)


UNSEEN = {
    **{f"dense_{activation.__name__}": _dense(activation) for activation in ACTIVATIONS},
    **{f"conv_{size}_stride_{stride}_{padding.lower()}": _conv(size, stride, padding)
       for size, stride in ((1, 1), (3, 1), (3, 2), (5, 3), (4, 2)) for padding in ("SAME", "VALID")},
    "conv_dilated": _conv(3, 1, "SAME", dilation=2),
    "conv_padded_by_hand": Unseen(lambda x: tf.nn.conv2d(
        tf.pad(x, [[0, 0], [2, 1], [0, 3], [0, 0]]), tf.ones([3, 2, 3, 2]), 2, "VALID"), IMAGE),
    "conv_depthwise": Unseen(lambda x: tf.nn.depthwise_conv2d(
        x, tf.reshape(tf.range(54, dtype=tf.float32) / 54, [3, 3, 3, 2]), [1, 2, 2, 1], "SAME"), IMAGE),
    "conv_grouped": Unseen(lambda x: tf.nn.conv2d(
        tf.concat([x, -x], -1), tf.reshape(tf.range(108, dtype=tf.float32) / 108, [3, 3, 3, 4]), 1, "SAME"), IMAGE),
    "conv_transposed": Unseen(lambda x: tf.nn.conv2d_transpose(
        x, tf.ones([3, 3, 2, 3]), [tf.shape(x)[0], 18, 14, 2], 2), IMAGE),
    "max_pool": Unseen(lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"), IMAGE),
    "average_pool": Unseen(lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME"), IMAGE),
    "batch_norm": Unseen(_batch_norm, IMAGE),
    "layer_norm": Unseen(_layer_norm, SEQUENCE),
    "attention": Unseen(_attention, SEQUENCE),
    "einsum": Unseen(lambda x: tf.einsum("bij,kj->bki", x, _weights(3, 8)), SEQUENCE),
    "einsum_outer": Unseen(lambda x: tf.einsum("bij,bik->bjk", x, x), SEQUENCE),
    "global_average": Unseen(lambda x: tf.reduce_mean(x, [1, 2]), IMAGE),
    "reduce_sum": Unseen(lambda x: tf.reduce_sum(x, [-1, 1], keepdims=True), IMAGE),
    "reduce_max_min": Unseen(lambda x: tf.reduce_max(x, 2) - tf.reduce_min(x, -2), IMAGE),
    "reduce_prod": Unseen(lambda x: tf.reduce_prod(x[:, :3], -1), SEQUENCE),
    "norm": Unseen(lambda x: tf.math.l2_normalize(x, -1), SEQUENCE),
    "cumulative_sum": Unseen(lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True), SEQUENCE),
    "concat": Unseen(lambda x: tf.concat([x, 2 * x[:, :2], tf.square(x)], 1), SEQUENCE),
    "concat_last_axis": Unseen(lambda x: tf.concat([x, x[..., ::-2]], -1), SEQUENCE),
    "split_and_stack": Unseen(lambda x: tf.stack(tf.split(x, [3, 1, 4], -1)[0:1] + [x[..., 5:]], 2), SEQUENCE),
    "unstack": Unseen(lambda x: tf.add_n(tf.unstack(x, axis=1)), SEQUENCE),
    "slices": Unseen(lambda x: x[:, 4:0:-2, tf.newaxis, ..., 1:-1:3], SEQUENCE),
    "slice_of_shape": Unseen(lambda x: tf.reshape(x, [tf.shape(x)[0], 8, 5])[:, :, 1], SEQUENCE),
    "transpose": Unseen(lambda x: tf.transpose(x, [0, 3, 1, 2]), IMAGE),
    "tile": Unseen(lambda x: tf.tile(x[:, :, :2], [1, 2, 3]), SEQUENCE),
    "pad_mirrored": Unseen(lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 3]], "REFLECT"), SEQUENCE),
    "reversed": Unseen(lambda x: tf.reverse(x, [1]), SEQUENCE),
    "expanded": Unseen(lambda x: tf.squeeze(tf.expand_dims(x, 1) * tf.ones([1, 4, 1, 1]), []) + 1, SEQUENCE),
    "broadcast": Unseen(lambda x: tf.broadcast_to(x[:, :1], tf.shape(x)) * tf.reshape(tf.range(5.0), [5, 1]), SEQUENCE),
    "where": Unseen(lambda x: tf.where((x > 0.5) | (x <= -1), x, tf.zeros_like(x) - 7), SEQUENCE),
    "clip": Unseen(lambda x: tf.clip_by_value(x, -0.5, 1.25) + tf.sign(x) * tf.round(x * 2), SEQUENCE),
    "powers": Unseen(lambda x: tf.pow(tf.abs(x), 1.7) / (1 + tf.sqrt(tf.abs(x))) + tf.math.log1p(tf.abs(x)), SEQUENCE),
    "not_a_number": Unseen(
        lambda x: tf.math.log(x) + tf.math.divide_no_nan(x, tf.nn.relu(x)) + 1 / tf.nn.relu(x), SEQUENCE),
    "trigonometry": Unseen(lambda x: tf.sin(x) * tf.cos(x) + tf.atan(x) + tf.math.erf(x), SEQUENCE),
    "argmax": Unseen(lambda x: tf.argmax(x, -1) * 10 + tf.argmin(x, -1), SEQUENCE),
    "top": Unseen(lambda x: tf.math.top_k(x, 3)[0], SEQUENCE),
    "truncated": Unseen(lambda x: tf.cast(x, tf.int32), SEQUENCE),
    "doubled": Unseen(lambda x: tf.cast(tf.reduce_sum(tf.cast(x, tf.float64), 1), tf.float32), SEQUENCE),
    "gather": Unseen(lambda i: tf.gather(tf.reshape(tf.range(30.0), [10, 3]), i), NUMBERS),
    "gather_of_axis": Unseen(lambda x: tf.gather(x, [3, 0, 3], axis=2), SEQUENCE),
    "gather_in_batch": Unseen(lambda x, i: tf.gather(x, i[:, :2] % 5, batch_dims=1), SEQUENCE | NUMBERS),
    "gather_nd": Unseen(lambda x: tf.gather_nd(x, tf.zeros([tf.shape(x)[0], 1], tf.int32)), SEQUENCE),
    "one_hot": Unseen(lambda i: tf.one_hot(i, 10, 2.5, -1.0, axis=1), NUMBERS),
    "integer_arithmetic": Unseen(lambda i: (i - 5) // 3 * 100 + (i - 5) % 3 + tf.maximum(i, 4), NUMBERS),
    "logic": Unseen(lambda i: tf.reduce_any(tf.logical_not((i >= 3) & tf.not_equal(i, 7)), -1), NUMBERS),
    "sorted": Unseen(lambda x: tf.sort(x, -1), SEQUENCE),
    "looped": Unseen(
        lambda x: tf.while_loop(lambda n, y: n < 5, lambda n, y: (n + 1, y * 0.5 + 1), (0, x))[1], SEQUENCE),
    "branched": Unseen(lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1, lambda: x * 2), SEQUENCE),
    **{f"random_{seed}": _random_network(seed) for seed in range(12)},
    "keras_cnn": Unseen(None, IMAGE, lambda: [
        layers.Normalization(mean=0.3, variance=2.0), layers.SeparableConv2D(6, 3, activation="gelu"),
        layers.LayerNormalization(), layers.Conv2D(4, 2, strides=2, activation="swish"), layers.BatchNormalization(),
        layers.GlobalMaxPooling2D(), layers.Dropout(0.5), layers.Dense(3, activation="softmax")]),
    "keras_embedding": Unseen(None, NUMBERS, lambda: [
        layers.Embedding(10, 6), layers.Conv1D(5, 2, activation="relu"), layers.GlobalAveragePooling1D(),
        layers.Dense(2)]),
    "keras_upsampling": Unseen(None, IMAGE, lambda: [
        layers.ZeroPadding2D(1), layers.Conv2D(2, 3), layers.UpSampling2D(2), layers.Cropping2D(1)]),
    "keras_gru": Unseen(None, SEQUENCE, lambda: [layers.GRU(6), layers.Dense(2)]),
    "keras_lstm": Unseen(None, SEQUENCE, lambda: [layers.LSTM(6, return_sequences=True), layers.Dense(2)]),
    "suppressed": Unseen(_suppressed, SEQUENCE),
    "drawn": Unseen(lambda x: x * tf.random.stateless_uniform(tf.shape(x), [1, 2]), SEQUENCE),
    "resized": Unseen(lambda x: tf.image.resize(x, [5, 11]), IMAGE),
}
