"""Lookup tables: graphs that make a table, fill it, and look up keys."""

import numpy as np
import tensorflow as tf

from op_cases.case import f32, f64, flags, graph, i32, i64, text

raw = tf.raw_ops


def scalar(value) -> np.ndarray:
    return np.array(value, object)


def types_of(keys, values) -> dict:
    def kind(array):
        return tf.string if array.dtype.kind == "O" else tf.as_dtype(array.dtype)

    return {"key_dtype": kind(keys), "value_dtype": kind(values)}


def filled_once(keys, values, lookups, default, op="HashTableV2", shared="") -> None:
    """A graph that initialises a table, looks up keys, and returns its size."""

    def build(feed):
        table = getattr(raw, op)(**types_of(keys, values), **({} if op.startswith("Anonymous") else {"shared_name": shared}))
        init = raw.InitializeTableV2(table_handle=table, keys=feed(keys), values=feed(values))
        with tf.control_dependencies([init]):
            found = raw.LookupTableFindV2(table_handle=table, keys=feed(lookups), default_value=feed(default))
            return [found, raw.LookupTableSizeV2(table_handle=table)]

    graph("LookupTableFindV2", build)


def mutable(make, steps) -> None:
    """A graph that runs `steps` one after the other. A step(table, feed, then) calls then(op, keep): later steps wait for the
    op, and with keep it is an output of the graph."""

    def build(feed):
        outputs = []
        waits = []

        def then(made, keep=False):
            waits.append(made)
            if keep:
                outputs.append(made)

        table = make(feed)
        for step in steps:
            with tf.control_dependencies(waits):
                step(table, feed, then)
        return outputs

    graph("LookupTableInsertV2", build)


def insert(keys, values, op="LookupTableInsertV2"):
    return lambda table, feed, then: then(getattr(raw, op)(table_handle=table, keys=feed(keys), values=feed(values)))


def replace_all(keys, values):
    return insert(keys, values, "LookupTableImportV2")


def remove(keys):
    return lambda table, feed, then: then(raw.LookupTableRemoveV2(table_handle=table, keys=feed(keys)))


def find(keys, default):
    return lambda table, feed, then: then(raw.LookupTableFindV2(table_handle=table, keys=feed(keys), default_value=feed(default)), True)


def size(table, feed, then):
    then(raw.LookupTableSizeV2(table_handle=table), True)


def export(keys_type, values_type):
    def step(table, feed, then):
        for value in raw.LookupTableExportV2(table_handle=table, Tkeys=keys_type, Tvalues=values_type):
            then(value, True)

    return step


def once() -> None:
    words = text("a", "", "é", b"\xff\0")
    for values in (i64(1, 2, 3, 2**62), i32(-1, 0, 1, 2), f32(0.5, -1, 1e30, 0), f64(1, 2, 3, 0.1), text("x", "", "yy", "z"),
                   flags(True, False, True, False)):
        default = scalar("?") if values.dtype.kind == "O" else np.zeros((), values.dtype)
        filled_once(words, values, text([["é", "b"], ["", "a"]]), default)
        filled_once(words, values, text("no"), default, op="AnonymousHashTable")
    numbers = i64(7, -1, 2**62)
    for values in (text("seven", "less", "many"), i64(1, 2, 3), f32(1, 2, 3), i32(1, 2, 3)):
        default = scalar("?") if values.dtype.kind == "O" else np.full((), -1, values.dtype)
        filled_once(numbers, values, i64(-1, 0, 7), default)
    filled_once(i32(1, 2), i32(5, 6), i32([[2, 3]]), np.array(0, np.int32))
    filled_once(i32(1, 2), text("a", "b"), i32([[2, 3]]), scalar(""))
    filled_once(words, i64(1, 2, 3, 4), scalar("é"), np.array(-1, np.int64))
    filled_once(words, i64(1, 2, 3, 4), np.zeros((0, 2), object), np.array(-1, np.int64), shared="shared")
    filled_once(np.zeros((0,), object), np.zeros((0,), np.int64), words, np.array(-1, np.int64))
    filled_once(text("a", "a"), i64(1, 1), words, np.array(-1, np.int64))
    filled_once(text("a", "a"), i64(1, 2), words, np.array(-1, np.int64))
    filled_once(text("a", "b"), i64(1, 2, 3), words, np.array(-1, np.int64))
    filled_once(text([["a", "b"]]), i64([[1, 2]]), words, np.array(-1, np.int64))
    filled_once(words, i64(1, 2, 3, 4), words, i64([-1]))
    filled_once(words, i64(1, 2, 3, 4), words, i64(-1, -2, -3, -4))

    def not_filled(feed):
        table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
        return [raw.LookupTableFindV2(table_handle=table, keys=feed(words), default_value=feed(np.array(0, np.int64)))]

    graph("LookupTableFindV2", not_filled)

    def never_filled_size(feed):
        return [raw.LookupTableSizeV2(table_handle=raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64))]

    graph("LookupTableSizeV2", never_filled_size)


def scalars(feed):
    return raw.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64)


def many() -> None:
    words, zero = text("a", "b", ""), np.array(0, np.int64)
    for make in (scalars, lambda feed: raw.AnonymousMutableHashTable(key_dtype=tf.string, value_dtype=tf.int64)):
        mutable(make, [size, find(words, zero), insert(words, i64(1, 2, 3)), size, find(text("b", "c"), zero),
                       insert(text("b", "b"), i64(7, 8)),
                       find(words, zero), size])
        mutable(make, [insert(words, i64(1, 2, 3)), replace_all(text(["c"]), i64([9])), find(text("a", "c"), zero), size,
                       export(tf.string, tf.int64)])
        mutable(make, [insert(words, i64(1, 2, 3)), remove(text("a", "x")), find(words, zero), size, insert(text(["a"]), i64([5])),
                       find(words, zero)])
        mutable(make, [insert(words, i64(1, 2, 3)), find(text("a", "x"), i64(-1, -2))])
        mutable(make, [insert(words, i64(1, 2, 3)), find(text("a", "x"), i64(-1, -2, -3))])
        mutable(make, [insert(words, i64(1, 2)), size])
        mutable(make, [export(tf.string, tf.int64), size])
    for keys, values, default in ((i64(1, 2), f32(1, 2), np.float32(0)), (i64(1, 2), text("x", "y"), scalar("?")),
                                    (i32(1, 2), i32(3, 4), np.int32(9)),
                                    (text("a", "b"), f64(1, 2), np.float64(0)), (text("a", "b"), flags(True, True), np.bool_(False))):
        mutable(lambda feed, k=keys, v=values: raw.MutableHashTableV2(**types_of(k, v)),
                [insert(keys, values), find(keys[::-1], np.array(default)), size])
    rows, nothing = f32([[1, 2], [3, 4]]), f32(0, -1)
    for op in ("MutableHashTableOfTensorsV2", "AnonymousMutableHashTableOfTensors"):
        def tensors(feed, op=op):
            return getattr(raw, op)(key_dtype=tf.string, value_dtype=tf.float32, value_shape=[2])

        mutable(tensors, [insert(text("a", "b"), rows), find(text([["b", "x"]]), nothing), size])
        mutable(tensors, [insert(text(["a"]), rows), size])
        mutable(tensors, [insert(text("a", "b"), rows), find(text("b", "x"), np.array(0, np.float32))])
        mutable(tensors, [insert(text(["a"]), rows[:1]), export(tf.string, tf.float32)])
    for op in ("MutableDenseHashTableV2", "AnonymousMutableDenseHashTable"):
        def dense(feed, op=op, deleted=-2):
            return getattr(raw, op)(empty_key=feed(np.array(-1, np.int64)), deleted_key=feed(np.array(deleted, np.int64)),
                                    value_dtype=tf.int64)

        mutable(dense, [insert(i64(5, 6, 5), i64(1, 2, 3)), find(i64(5, 6, 7), zero), size, remove(i64([5])), find(i64(5, 6), zero), size])
        mutable(dense, [insert(i64(5, -1), i64(1, 2)), size])
        mutable(dense, [find(i64(5, -1), zero)])
        mutable(dense, [find(i64(5, -2), zero)])
        mutable(dense, [remove(i64([-2])), size])
        mutable(lambda feed, dense=dense: dense(feed, deleted=-1), [insert(i64([5]), i64([1])), size])


def first_version() -> None:
    """The ops of TensorFlow 1, whose handles are strings."""
    words, zero = text("a", "b", ""), np.array(0, np.int64)

    def hash_table(feed):
        table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64)
        with tf.control_dependencies([raw.InitializeTable(table_handle=table, keys=feed(words), values=feed(i64(1, 2, 3)))]):
            return [raw.LookupTableFind(table_handle=table, keys=feed(text("b", "x")), default_value=feed(zero)),
                    raw.LookupTableSize(table_handle=table)]

    graph("LookupTableFind", hash_table)

    def mutable_table(make):
        def build(feed):
            table = make(feed)
            with tf.control_dependencies([raw.LookupTableInsert(table_handle=table, keys=feed(i64(1, 2)), values=feed(i64(3, 4)))]):
                found = raw.LookupTableFind(table_handle=table, keys=feed(i64(2, 5)), default_value=feed(zero))
            with tf.control_dependencies([found]):
                imported = raw.LookupTableImport(table_handle=table, keys=feed(i64([8])), values=feed(i64([9])))
            with tf.control_dependencies([imported]):
                return [found, *raw.LookupTableExport(table_handle=table, Tkeys=tf.int64, Tvalues=tf.int64)]

        return build

    kinds = {"key_dtype": tf.int64, "value_dtype": tf.int64}
    graph("LookupTableFind", mutable_table(lambda feed: raw.MutableHashTable(**kinds)))


once()
many()
first_version()
