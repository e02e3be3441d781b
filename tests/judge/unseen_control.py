"""Models with branches, loops, lists and recurrent layers, in the formats of TensorFlow 1 and 2."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from judging import Tensors

tf1 = tf.compat.v1
VECTOR = {"x": (tf.float32, [12])}
SEQUENCE = {"x": (tf.float32, [5, 8])}
LENGTHS = {"n": (tf.int32, [])}


@dataclasses.dataclass
class Exported:
    """A model with a function that exports it as a SavedModel."""
    export: Callable[[pathlib.Path], None]
    inputs: dict[str, tuple[tf.DType, list[int]]]  # Shapes without the batch dimension.
    integers_end: int = 6  # Sample integers are below this.

    def sample(self, batch: int) -> Tensors:
        random = np.random.default_rng(batch)

        def values(dtype, shape):
            if dtype.is_integer:
                return random.integers(0, self.integers_end, [batch, *shape]).astype(dtype.as_numpy_dtype)
            return random.normal(0, 2, [batch, *shape]).astype(dtype.as_numpy_dtype)
        return {name: values(dtype, shape) for name, (dtype, shape) in self.inputs.items()}


def _new(function: Callable, inputs=VECTOR) -> Exported:
    """A tf.function in the format of TensorFlow 2."""
    def export(path: pathlib.Path) -> None:
        signature = [tf.TensorSpec([None, *shape], dtype, name=name) for name, (dtype, shape) in inputs.items()]
        module = tf.Module()
        module.serve = tf.function(lambda *x: {"y": function(*x)}, input_signature=signature)
        tf.saved_model.save(module, str(path), signatures=module.serve)
    return Exported(export, inputs)


@contextlib.contextmanager
def _control_flow_of_tensorflow_1():
    tf1.disable_control_flow_v2()
    try:
        yield
    finally:
        tf1.enable_control_flow_v2()


def _old(function: Callable, inputs=VECTOR, resources: bool = True, **save) -> Exported:
    """A graph of TensorFlow 1 with the variables of a session."""
    def export(path: pathlib.Path) -> None:
        with _control_flow_of_tensorflow_1(), tf.Graph().as_default():
            tf1.set_random_seed(5)
            placeholders = {name: tf1.placeholder(dtype, [None, *shape], name=name)
                            for name, (dtype, shape) in inputs.items()}
            with tf1.variable_scope("", use_resource=resources):
                y = function(*placeholders.values())
            with tf1.Session(config=tf1.ConfigProto(device_count={"CPU": 3})) as session:
                session.run(tf1.global_variables_initializer())
                _save(session, path, placeholders, {"y": y}, **save)
    return Exported(export, inputs)


def _save(session, path, inputs, outputs, sharded: bool = False, init: str = "main_op") -> None:
    builder = tf1.saved_model.builder.SavedModelBuilder(str(path))
    signature = tf1.saved_model.signature_def_utils.predict_signature_def(inputs, outputs)
    saver = tf1.train.Saver(sharded=sharded) if sharded and tf1.global_variables() else None
    ops = {init: tf1.tables_initializer()}
    builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, saver=saver, **ops)
    builder.save()


def _keras(make: Callable[[], list], inputs=SEQUENCE, by_export: bool = False) -> Exported:
    def export(path: pathlib.Path) -> None:
        keras.utils.set_random_seed(12)
        (name, (dtype, shape)), = inputs.items()
        entry = keras.Input(shape, dtype=dtype.name, name=name)
        y = entry
        for layer in make():
            y = layer(y)
        model = keras.Model(entry, y)
        if by_export:
            model.export(str(path), verbose=False)
        else:
            module = tf.Module()
            module.kept = [variable.value for variable in model.variables]
            module.serve = tf.function(lambda x: {"y": model(x)},
                                       input_signature=[tf.TensorSpec([None, *shape], dtype, name)])
            tf.saved_model.save(module, str(path), signatures=module.serve)
    return Exported(export, inputs)


# Branches and loops of TensorFlow 2.

def _collatz(x):
    n = tf.cast(tf.abs(x[0, 0]) * 20, tf.int32) + 1
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 500:
            break
    return x + tf.cast(steps, tf.float32)


def _case(x):
    index = tf.cast(tf.reduce_sum(tf.abs(x)), tf.int32) % 5 - 1
    return tf.switch_case(index, [lambda: x + 1, lambda: x * 2, lambda: -x], default=lambda: tf.zeros_like(x))


def _nested_loops(x):
    def outer(i, y):
        step = tf.cast(i, tf.float32)
        return i + 1, tf.while_loop(lambda j, _: j < i, lambda j, z: (j + 1, z * 0.9 + step), (0, y))[1]
    return tf.while_loop(lambda i, _: i < 4, outer, (0, x))[1]


def _lists(x):
    rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False, element_shape=[None, 8])
    for i in tf.range(5):
        rows = rows.write(i, x[:, i] * tf.cast(i, tf.float32))
    parts = tf.TensorArray(tf.float32, size=3, infer_shape=False).split(x[0], [1, 3, 1])
    return rows.stack()[:, :, :2] + tf.reduce_sum(parts.read(1)) + tf.reduce_sum(rows.gather([3, 1])) + \
        tf.reduce_sum(parts.concat()) + tf.cast(rows.size(), tf.float32)


def _raw_lists(x):
    raw = tf.raw_ops
    empty = raw.EmptyTensorList(element_shape=[8], max_num_elements=-1, element_dtype=tf.float32)
    pushed = raw.TensorListPushBack(input_handle=raw.TensorListPushBack(input_handle=empty, tensor=x[0, 0]),
                                    tensor=x[0, 1])
    shorter, last = raw.TensorListPopBack(input_handle=pushed, element_shape=[8], element_dtype=tf.float32)
    longer = raw.TensorListResize(input_handle=shorter, size=4)
    scattered = raw.TensorListScatterV2(tensor=x[0], indices=[4, 0, 2, 1, 6], element_shape=[8], num_elements=-1)
    more = raw.TensorListScatterIntoExistingList(input_handle=scattered, tensor=x[0, :2], indices=[3, 0])
    both = raw.TensorListConcatLists(input_a=longer, input_b=more, element_dtype=tf.float32)
    whole = raw.TensorListStack(input_handle=both, element_shape=[8], element_dtype=tf.float32)
    shape = raw.TensorListElementShape(input_handle=both, shape_type=tf.int32)
    number = tf.cast(raw.TensorListLength(input_handle=both) + shape[0], tf.float32)
    return tf.reduce_sum(x, 1) + tf.reduce_sum(whole * tf.range(11.0)[:, tf.newaxis], 0) + last + number


CONTROL = {
    "if_nested": _new(lambda x: tf.cond(
        x[0, 0] > 0, lambda: tf.cond(x[0, 1] > 0, lambda: x + 1, lambda: x * x),
        lambda: tf.cond(x[0, 1] > 0, lambda: tf.nn.relu(x), lambda: -x))),
    "if_of_several": _new(lambda x: sum(tf.cond(x[0, 0] > 0, lambda: (x, x * 2), lambda: (tf.exp(-x * x), x)))),
    "case": _new(_case),
    "loop_with_break": _new(_collatz),
    "loops_nested": _new(_nested_loops),
    "map_fn": _new(lambda x: tf.map_fn(lambda row: row * tf.reduce_max(row), x)),
    "map_fn_of_lengths": _new(lambda x, n: tf.map_fn(
        lambda both: tf.reduce_sum(both[0][:both[1]]), (x, n), fn_output_signature=tf.float32), SEQUENCE | LENGTHS),
    "scan": _new(lambda x: tf.scan(lambda a, row: a * 0.5 + row, tf.transpose(x, [1, 0, 2])), SEQUENCE),
    "foldl": _new(lambda x: tf.foldl(lambda a, row: a * 0.5 + row, tf.transpose(x, [1, 0, 2])), SEQUENCE),
    "lists": _new(_lists, SEQUENCE),
    "lists_raw": _new(_raw_lists, SEQUENCE),
}


# Recurrent layers of Keras.

def _masked(layer: keras.Layer) -> list:
    return [layers.Embedding(6, 7, mask_zero=True), layer, layers.Dense(3)]


TOKENS = {"i": (tf.int32, [9])}
RECURRENT = {
    "lstm": lambda: [layers.LSTM(6), layers.Dense(2)],
    "lstm_sequences": lambda: [layers.LSTM(6, return_sequences=True), layers.LSTM(3, go_backwards=True)],
    "lstm_unrolled": lambda: [layers.LSTM(4, unroll=True)],
    "gru": lambda: [layers.GRU(6, return_sequences=True), layers.GRU(4, reset_after=False)],
    "rnn_simple": lambda: [layers.SimpleRNN(5, return_sequences=True), layers.Dense(2)],
    "rnn_of_cells": lambda: [layers.RNN([layers.LSTMCell(4), layers.GRUCell(3)])],
    "bidirectional": lambda: [layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
                              layers.Bidirectional(layers.GRU(3), merge_mode="sum")],
    "time_distributed": lambda: [layers.TimeDistributed(layers.Dense(3)), layers.LSTM(2, recurrent_activation="relu")],
    "conv_lstm": lambda: [layers.Reshape([5, 2, 2, 2]), layers.ConvLSTM2D(3, 2), layers.Flatten()],
}
MASKED = {
    "lstm_masked": lambda: _masked(layers.LSTM(5)),
    "gru_masked": lambda: _masked(layers.GRU(5, return_sequences=True)),
    "bidirectional_masked": lambda: _masked(layers.Bidirectional(layers.LSTM(4))),
    "bidirectional_gru_masked": lambda: _masked(layers.Bidirectional(layers.GRU(4, return_sequences=True))),
}
CONTROL |= {
    **{f"keras_{name}": _keras(make) for name, make in RECURRENT.items()},
    **{f"keras_{name}": _keras(make, TOKENS) for name, make in MASKED.items()},
    **{f"keras_{name}_exported": _keras(RECURRENT[name], by_export=True) for name in ("lstm", "gru", "bidirectional")},
    **{f"keras_{name}_exported": _keras(MASKED[name], TOKENS, by_export=True)
       for name in ("lstm_masked", "bidirectional_gru_masked")},
}


# Models that need ops other than control flow: StackV2, ReverseV2 and ReverseSequence.
MAY_BE_REJECTED = {"old_gradient_of_loop"}


# Graphs of TensorFlow 1.

class Cell:
    """A plain cell for dynamic_rnn."""
    state_size = output_size = 6

    def __init__(self, name: str = "cell"):
        self.name = name

    def __call__(self, inputs, state, scope=None):
        with tf1.variable_scope(self.name, reuse=tf1.AUTO_REUSE):
            kernel = tf1.get_variable("kernel", [inputs.shape[-1] + 6, 6], initializer=tf1.glorot_uniform_initializer())
            bias = tf1.get_variable("bias", [6], initializer=tf1.random_normal_initializer())
        state = tf.tanh(tf.concat([inputs, state], -1) @ kernel + bias)
        return state, state

    def zero_state(self, batch_size, dtype):
        return tf.zeros([batch_size, 6], dtype)


def _old_nested_cond(x):
    def inner():
        return tf1.cond(x[0, 1] > 0, lambda: x * x, lambda: tf.constant(3.0) + x)
    return tf1.cond(x[0, 0] > 0, lambda: tf1.cond(x[0, 2] > 0, inner, lambda: x - 1), lambda: tf.zeros_like(x))


def _old_case(x):
    total = tf.reduce_sum(x)
    return tf1.case([(total < -5, lambda: -x), (total < 0, lambda: x * 2), (total < 5, lambda: x * 3)],
                    default=lambda: x + 1)


def _old_loop_with_cond(x):
    def body(i, y):
        return i + 1, tf1.cond(tf.equal(i % 2, 0), lambda: y * 0.5, lambda: y + x)
    return tf1.while_loop(lambda i, _: i < 5, body, [0, x])[1]


def _old_cond_with_loop(x):
    def loop():
        return tf1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 0.5 + x), [0, x])[1]
    return tf1.cond(tf.reduce_sum(x) > 0, loop, lambda: x)


def _old_nested_loops(x):
    def outer(i, y):
        step = tf.cast(i, tf.float32)
        return i + 1, tf1.while_loop(lambda j, _: j < i, lambda j, z: [j + 1, z * 0.9 + step], [0, y])[1]
    return tf1.while_loop(lambda i, _: i < 4, outer, [0, x])[1]


def _old_two_conds_of_one_predicate(x):
    positive = x[0, 0] > 0
    first, second = tf1.cond(positive, lambda: (x, x * 2), lambda: (-x, x * x))
    return tf1.cond(positive, lambda: first + 1, lambda: second - first)


def _old_assert(x):
    with tf.control_dependencies([tf1.Assert(tf.reduce_all(x < 1e6), [x]), tf1.assert_greater(x, -1e6)]):
        return tf.identity(x) + 1


def _old_arrays(x):
    array = tf1.TensorArray(tf.float32, 5, clear_after_read=False).unstack(tf.transpose(x, [1, 0, 2]))
    sums = tf1.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=True)
    _, sums, total = tf1.while_loop(
        lambda i, *_: i < array.size(),
        lambda i, a, t: (i + 1, a.write(i, array.read(i) + t), t + array.read(i)), [0, sums, tf.zeros_like(x[:, 0])])
    parts = tf1.TensorArray(tf.float32, 2, infer_shape=False, clear_after_read=False).split(x[0], [2, 3])
    of_parts = tf.reduce_sum(parts.concat()) + tf.reduce_sum(parts.read(0))
    return tf.transpose(sums.gather([4, 0, 1]), [1, 0, 2]) + total[:, tf.newaxis] + of_parts


def _old_dynamic_rnn(x, n=None):
    outputs, state = tf1.nn.dynamic_rnn(Cell(), x, sequence_length=n, dtype=tf.float32,
                                        initial_state=tf.zeros([tf.shape(x)[0], 6]))
    return tf.concat([outputs, state[:, tf.newaxis]], 1)


def _old_bidirectional_rnn(x, n):
    outputs, _ = tf1.nn.bidirectional_dynamic_rnn(Cell("forth"), Cell("back"), x, sequence_length=n, dtype=tf.float32)
    return tf.concat(outputs, -1)


def _old_variable(x, **options):
    return tf1.get_variable("v", x.shape[1:], initializer=tf1.random_normal_initializer(), **options)


def _old_variable_in_branch(x):
    v = _old_variable(x)
    return tf1.cond(x[0, 0] > 0, lambda: x + v, lambda: x * tf1.while_loop(
        lambda i, _: i < 2, lambda i, y: (i + 1, y + v), [0, v])[1])


def _old_assigned(x):
    v = tf1.get_variable("v", [], initializer=tf1.constant_initializer(1.5))
    return x + tf1.assign(tf1.assign(v, x[0, 0]), x[0, 1])


def _partitioned(x):
    with tf1.variable_scope("parts", partitioner=tf1.fixed_size_partitioner(3)):
        kernel = tf1.get_variable("kernel", [12, 5], initializer=tf1.random_normal_initializer())
    with tf1.variable_scope("columns", partitioner=tf1.fixed_size_partitioner(2, axis=1)):
        columns = tf1.get_variable("kernel", [12, 5], initializer=tf1.random_normal_initializer())
        words = tf1.get_variable("bias", [1, 5], initializer=tf1.random_normal_initializer())
    return x @ kernel + x @ columns + words


def _on_several_devices(x):
    y = x
    for i in range(3):
        with tf.device(f"/cpu:{i}"), tf1.variable_scope(f"device_{i}"):
            y = y + _old_variable(x)
    with tf.device("/cpu:1"):
        return y + _partitioned(x)[:, :1]


def _table(x):
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(
        tf.constant([0, 1, 2], tf.int64), tf.constant([5.0, 6.0, 7.0])), -1.0)
    return x + table.lookup(tf.cast(tf.abs(x), tf.int64))


CONTROL |= {
    "old_cond": _old(lambda x: tf1.cond(x[0, 0] > 0, lambda: x + 1, lambda: tf.exp(-x * x))),
    "old_cond_of_constants": _old(lambda x: x * tf1.cond(x[0, 0] > 0, lambda: tf.constant(2.0), lambda: 3.0)),
    "old_cond_nested": _old(_old_nested_cond),
    "old_conds_of_one_predicate": _old(_old_two_conds_of_one_predicate),
    "old_case": _old(_old_case),
    "old_assert": _old(_old_assert),
    "old_loop": _old(lambda x: tf1.while_loop(lambda i, _: i < 5, lambda i, y: [i + 1, y * 0.5 + x], [0, x])[1]),
    "old_loop_unused": _old(lambda x: tf1.while_loop(lambda i, *_: i < 5, lambda i, y, z: [i + 1, y * 0.5, z + y],
                                                     [0, x, x])[1]),
    "old_loops_nested": _old(_old_nested_loops),
    "old_loop_with_cond": _old(_old_loop_with_cond),
    "old_cond_with_loop": _old(_old_cond_with_loop),
    "old_gradient_of_loop": _old(lambda x: tf1.gradients(tf1.while_loop(
        lambda i, _: i < 3, lambda i, y: [i + 1, tf.tanh(y)], [0, x], maximum_iterations=3)[1], x)[0]),
    "old_map_fn": _old(lambda x: tf1.map_fn(lambda row: row * tf.reduce_max(row), x)),
    "old_arrays": _old(_old_arrays, SEQUENCE),
    "old_dynamic_rnn": _old(_old_dynamic_rnn, SEQUENCE),
    "old_dynamic_rnn_of_lengths": _old(_old_dynamic_rnn, SEQUENCE | LENGTHS),
    "old_dynamic_rnn_by_reference": _old(_old_dynamic_rnn, SEQUENCE | LENGTHS, resources=False),
    "old_bidirectional_rnn": _old(_old_bidirectional_rnn, SEQUENCE | LENGTHS),
    "old_variable_in_branch": _old(_old_variable_in_branch),
    "old_variable_in_branch_by_reference": _old(_old_variable_in_branch, resources=False),
    "old_assigned_by_reference": _old(_old_assigned, resources=False),
    "old_partitioned": _old(_partitioned),
    "old_partitioned_by_reference": _old(_partitioned, resources=False),
    "old_sharded": _old(_on_several_devices, sharded=True),
    "old_sharded_by_reference": _old(_on_several_devices, resources=False, sharded=True),
    "old_main_op": _old(_table),
    "old_legacy_init_op": _old(_table, init="legacy_init_op"),
}
