"""Ops whose values live between ops: lists, arrays, variables, and the bodies of branches and loops."""

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import function

from op_cases.case import f32, flags, graph, i32, i64, ramp, text

raw = tf.raw_ops


def scalar(value, dtype=np.int32) -> np.ndarray:
    return np.array(value, dtype)


def stacked(feed, handle, dtype=tf.float32, shape=-1, **arguments):
    return raw.TensorListStack(input_handle=handle, element_shape=feed(i32(shape)), element_dtype=dtype, **arguments)


def of_rows(feed, rows, shape=None):
    return raw.TensorListFromTensor(tensor=feed(rows), element_shape=feed(i32(list(rows.shape[1:]) if shape is None else shape)))


def list_sources() -> None:
    def pushed(values, dtype, shape, max_elements=-1):
        def build(feed):
            made = raw.EmptyTensorList(element_shape=feed(i32(shape)), max_num_elements=feed(scalar(max_elements)), element_dtype=dtype)
            for value in values:
                made = raw.TensorListPushBack(input_handle=made, tensor=feed(value))
            popped, last = raw.TensorListPopBack(input_handle=made, element_shape=feed(i32(shape)), element_dtype=dtype)
            return [raw.TensorListLength(input_handle=made), last, raw.TensorListLength(input_handle=popped),
                    stacked(feed, made, dtype, shape)]

        graph("TensorListPushBack", build)

    pushed([f32(1, 2), f32(3, 4)], tf.float32, [2])
    pushed([text("a", "b"), text("c", "")], tf.string, [2])
    pushed([f32(1, 2), f32(3, 4)], tf.float32, [-1], max_elements=2)
    pushed([f32(1, 2), f32(3, 4)], tf.float32, [2], max_elements=1)
    pushed([f32(1, 2), f32(3, 4, 5)], tf.float32, [-1])
    pushed([f32(1, 2), f32(3, 4, 5)], tf.float32, [2])
    pushed([], tf.float32, [2])

    for rows in (ramp(3, 2), ramp(2, 3, 2), i64(5, 6, 7), text("a", "", "c"), np.zeros((0, 2), np.float32), f32(1.5)):
        graph("TensorListFromTensor", lambda feed, rows=rows: [
            stacked(feed, of_rows(feed, rows), tf.string if rows.dtype.kind == "O" else rows.dtype, list(rows.shape[1:]))])
    graph("TensorListFromTensor", lambda feed: [stacked(feed, of_rows(feed, ramp(3, 2), [3]))])
    graph("TensorListFromTensor", lambda feed: [stacked(feed, of_rows(feed, ramp(3, 2), [-1]), shape=[2])])

    def shape_of(shape, dtype):
        def build(feed):
            made = raw.EmptyTensorList(element_shape=feed(i32(shape)), max_num_elements=feed(scalar(-1)), element_dtype=tf.float32)
            return [raw.TensorListElementShape(input_handle=made, shape_type=dtype)]

        graph("TensorListElementShape", build)

    for shape in ([2, -1], [], -1):
        shape_of(shape, tf.int32)
        shape_of(shape, tf.int64)


def list_elements() -> None:
    def reserved(size, puts, gets, shape=(2,), **arguments):
        def build(feed):
            made = raw.TensorListReserve(element_shape=feed(i32(list(shape))), num_elements=feed(scalar(size)), element_dtype=tf.float32)
            for at, value in puts:
                made = raw.TensorListSetItem(input_handle=made, index=feed(scalar(at)), item=feed(value), **arguments)
            items = [raw.TensorListGetItem(input_handle=made, index=feed(scalar(at)), element_shape=feed(i32(list(shape))),
                                           element_dtype=tf.float32) for at in gets]
            return [raw.TensorListLength(input_handle=made), *items]

        graph("TensorListSetItem", build)

    reserved(3, [(1, f32(1, 2))], [1, 0])
    reserved(3, [(0, f32(1, 2)), (2, f32(3, 4)), (0, f32(5, 6))], [0, 1, 2])
    reserved(0, [], [])
    reserved(2, [(2, f32(1, 2))], [0])
    reserved(2, [(4, f32(1, 2))], [4], resize_if_index_out_of_bounds=True)
    reserved(2, [(-1, f32(1, 2))], [0])
    reserved(2, [(0, f32(1, 2, 3))], [0])
    reserved(2, [], [2])
    reserved(2, [], [-1])
    reserved(2, [], [0], shape=(-1,))
    reserved(-1, [], [])

    for size in (2, 5, 0, -1):
        def resized(feed, size=size):
            made = raw.TensorListResize(input_handle=of_rows(feed, ramp(3, 2)), size=feed(scalar(size)))
            return [raw.TensorListLength(input_handle=made), stacked(feed, made, shape=[2])]

        graph("TensorListResize", resized)
    for wanted in (3, 2, -1):
        graph("TensorListStack", lambda feed, wanted=wanted: [
            stacked(feed, of_rows(feed, ramp(3, 2)), shape=[2], num_elements=wanted)])
    graph("TensorListStack", lambda feed: [stacked(feed, of_rows(feed, ramp(3, 2)), shape=[3])])


def list_places() -> None:
    for places in ([0, 2, 1], [2, 2], [], [3], [-1]):
        graph("TensorListGather", lambda feed, places=places: [raw.TensorListGather(
            input_handle=of_rows(feed, ramp(3, 2)), indices=feed(i32(places)), element_shape=feed(i32([2])), element_dtype=tf.float32)])

    def scattered(places, size=None):
        def build(feed):
            rows, at, shape = feed(ramp(2, 2)), feed(i32(places)), feed(i32([2]))
            if size is None:
                made = raw.TensorListScatter(tensor=rows, indices=at, element_shape=shape)
            else:
                made = raw.TensorListScatterV2(tensor=rows, indices=at, element_shape=shape, num_elements=feed(scalar(size)))
            return [raw.TensorListLength(input_handle=made), stacked(feed, made, shape=[2])]

        graph("TensorListScatter" if size is None else "TensorListScatterV2", build)

    for places in ([1, 0], [0, 2], [1, 1], [-1, 0]):
        scattered(places)
        scattered(places, -1)
        scattered(places, 3)
    scattered([0, 3], 3)
    scattered([0], 3)
    for places in ([1, 0], [3, 0]):  # TensorFlow crashes with an index below 0, and returns uninitialised memory if places are left out.
        def into(feed, places=places):
            made = raw.TensorListScatterIntoExistingList(input_handle=of_rows(feed, ramp(3, 2, scale=1.0)), tensor=feed(ramp(2, 2)),
                                                         indices=feed(i32(places)))
            return [raw.TensorListLength(input_handle=made), stacked(feed, made, shape=[2])]

        graph("TensorListScatterIntoExistingList", into)


def list_runs() -> None:
    def split(rows, lengths, shape=(-1, 2)):
        def build(feed):
            made = raw.TensorListSplit(tensor=feed(rows), element_shape=feed(i32(list(shape))), lengths=feed(i64(lengths)))
            whole = raw.TensorListConcatV2(input_handle=made, element_shape=feed(i32(list(shape))), leading_dims=feed(i64([])),
                                           element_dtype=tf.float32)
            old = raw.TensorListConcat(input_handle=made, element_dtype=tf.float32,
                                       element_shape=[None, *shape[1:]])
            item = raw.TensorListGetItem(input_handle=made, index=feed(scalar(0)), element_shape=feed(i32(list(shape))),
                                         element_dtype=tf.float32)
            return [item, *whole, *old]

        graph("TensorListSplit", build)

    split(ramp(5, 2), [2, 3])
    split(ramp(5, 2), [0, 4, 1])
    split(ramp(5, 2), [5])
    split(ramp(5, 2), [2, 2])
    split(ramp(5, 2), [2, 4])
    split(ramp(5, 2), [-1, 6])
    split(ramp(4, 2), [2, 2], shape=(-1, 3))

    def both(second, dtype=tf.float32):
        def build(feed):
            made = raw.TensorListConcatLists(input_a=of_rows(feed, ramp(2, 2)), input_b=of_rows(feed, second), element_dtype=dtype)
            return [raw.TensorListLength(input_handle=made), stacked(feed, made, shape=[2])]

        graph("TensorListConcatLists", build)

    both(ramp(3, 2, scale=1.0))
    both(np.zeros((0, 2), np.float32))




def arrays() -> None:
    def array(feed, size, dtype=tf.float32, **arguments):
        return raw.TensorArrayV3(size=feed(scalar(size)), dtype=dtype, **arguments)

    def written(size, writes, reads, dtype=tf.float32, **arguments):
        def build(feed):
            handle, flow = array(feed, size, dtype, **arguments)
            for at, value in writes:
                flow = raw.TensorArrayWriteV3(handle=handle, index=feed(scalar(at)), value=feed(value), flow_in=flow)
            length = raw.TensorArraySizeV3(handle=handle, flow_in=flow)
            items = [raw.TensorArrayReadV3(handle=handle, index=feed(scalar(at)), flow_in=flow, dtype=dtype) for at in reads]
            with tf.control_dependencies([length, *items]):
                closed = raw.TensorArrayCloseV3(handle=handle)
            with tf.control_dependencies([closed]):
                return [raw.Identity(input=length), *(raw.Identity(input=item) for item in items)]

        graph("TensorArrayWriteV3", build)

    written(2, [(0, f32(1, 2)), (1, f32(3, 4))], [1, 0], clear_after_read=False)
    written(2, [(0, text("a")), (1, text("b"))], [0, 1], tf.string)
    written(1, [(0, f32(1, 2)), (3, f32(3, 4))], [0, 3], dynamic_size=True)
    written(1, [(1, f32(1, 2))], [0])
    written(1, [(-1, f32(1, 2))], [0])
    written(2, [(0, f32(1, 2))], [2])
    written(1, [(0, i32(1, 2))], [0])
    written(2, [(0, f32(1, 2)), (1, f32(1, 2, 3))], [0], element_shape=[2])
    written(-1, [], [])
    written(0, [], [])

    def scattered(size, places, gathers, **arguments):
        def build(feed):
            handle, flow = array(feed, size, **arguments)
            flow = raw.TensorArrayScatterV3(handle=handle, indices=feed(i32(places)), value=feed(ramp(len(places), 2)), flow_in=flow)
            return [raw.TensorArrayGatherV3(handle=handle, indices=feed(i32(gathers)), flow_in=flow, dtype=tf.float32, element_shape=[2])]

        graph("TensorArrayScatterV3", build)

    scattered(3, [2, 0, 1], [0, 1, 2])
    scattered(3, [2, 0, 1], [1])
    scattered(1, [0, 2, 1], [2, 0], dynamic_size=True)
    scattered(2, [0, 2], [0])
    scattered(3, [0, 1, 2], [3])

    def split(size, lengths, **arguments):
        def build(feed):
            handle, flow = array(feed, size, **arguments)
            flow = raw.TensorArraySplitV3(handle=handle, value=feed(ramp(5, 2)), lengths=feed(i64(lengths)), flow_in=flow)
            return list(raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=tf.float32, element_shape_except0=[2]))

        graph("TensorArraySplitV3", build)

    for lengths in ([2, 3], [5, 0], [2, 2], [5]):
        split(2, lengths)


def variables() -> None:
    def variable(feed, value, build):
        dtype = tf.string if value.dtype.kind == "O" else tf.as_dtype(value.dtype)
        handle = raw.VarHandleOp(dtype=dtype, shape=list(value.shape), shared_name="kept")
        assigned = raw.AssignVariableOp(resource=handle, value=feed(value))
        with tf.control_dependencies([assigned]):
            return build(handle, dtype)

    for value in (ramp(2, 3), i64(1, 2), text("a", "b"), flags(True, False), f32(1.5)):
        graph("ReadVariableOp", lambda feed, value=value: variable(feed, value, lambda handle, dtype: [
            raw.ReadVariableOp(resource=handle, dtype=dtype), raw.VariableShape(input=handle),
            raw.VariableShape(input=handle, out_type=tf.int64), raw.VarIsInitializedOp(resource=handle)]))
    for indices in (i32([[2, 0]]), i64(1), i32(3), i32(-1)):
        graph("ResourceGather", lambda feed, indices=indices: variable(feed, ramp(3, 2), lambda handle, dtype: [
            raw.ResourceGather(resource=handle, indices=feed(indices), dtype=dtype)]))

    def unassigned(feed):
        handle = raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="kept")
        return [raw.VarIsInitializedOp(resource=handle)]

    graph("VarIsInitializedOp", unassigned)
    graph("ReadVariableOp", lambda feed: [raw.ReadVariableOp(
        resource=raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="kept"), dtype=tf.float32)])


def body(name: str, types, build):
    """A function with its own name, so that the graph is the same in every run."""
    return function.Defun(*types, func_name=name)(build)


FLOATS = [tf.float32]


def branches() -> None:
    def doubled():
        return body("doubled", FLOATS, lambda x: x + x)

    def negated():
        return body("negated", FLOATS, lambda x: -x)

    def shapeless():
        return body("shapeless", FLOATS, lambda x: tf.reduce_sum(x))

    for op in ("If", "StatelessIf"):
        for condition in (np.array(True), np.array(False), scalar(0), scalar(-3), f32(0.0), scalar("", object), scalar("x", object),
                          np.zeros((0,), np.float32), f32(0, 0)):
            graph(op, lambda feed, op=op, condition=condition: [*getattr(raw, op)(
                cond=feed(condition), input=[feed(f32(1, 2, 3))], Tout=FLOATS, then_branch=doubled(), else_branch=negated())])
    for op in ("Case", "StatelessCase"):
        for index in (0, 1, 2, 3, -1):
            graph(op, lambda feed, op=op, index=index: [*getattr(raw, op)(
                branch_index=feed(scalar(index)), input=[feed(f32(1, 2, 3))], Tout=FLOATS,
                branches=[doubled(), negated(), shapeless()])])


def loops() -> None:
    """The conditions end each loop soon: the fuzzers of the engine begin with any tensor."""
    types = [tf.int32, tf.float32]

    def loop(op, rounds, step):
        def build(feed):
            less = body("less", types, lambda i, x: tf.reduce_any((i >= 0) & (i < 5)))
            return [*getattr(raw, op)(input=[feed(scalar(rounds)), feed(f32(1, 2))], cond=less,
                                      body=body("step", types, step))]

        graph(op, build)

    for op in ("While", "StatelessWhile"):
        loop(op, 0, lambda i, x: (i + 1, x * 1.5))
        loop(op, 5, lambda i, x: (i + 1, x * 1.5))
        loop(op, 2, lambda i, x: (i + 1, tf.concat([x, x], 0)))
        loop(op, 0, lambda i, x: (i + 1, tf.reshape(x, [3])))

    def filled(feed):
        """A loop that fills a list."""
        kinds = [tf.int32, tf.variant]
        less = body("less", kinds, lambda i, made: tf.reduce_any((i >= 0) & (i < 4)))
        step = body("step", kinds, lambda i, made: (
            i + 1, raw.TensorListSetItem(input_handle=made, index=i, item=tf.cast(i, tf.float32) * [1.0, 0.5])))
        made = raw.TensorListReserve(element_shape=feed(i32([2])), num_elements=feed(scalar(4)), element_dtype=tf.float32)
        _, made = raw.While(input=[feed(scalar(0)), made], cond=less, body=step)
        return [stacked(feed, made, shape=[2])]

    graph("While", filled)


list_sources()
list_elements()
list_places()
list_runs()
arrays()
variables()
branches()
loops()
