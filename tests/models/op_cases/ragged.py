"""Segments, ragged and sparse tensors, sets, counts, partitions and stitches of rows."""

import numpy as np

from op_cases.case import INF, INTS, NAN, case, f32, f64, flags, i8, i32, i64, ramp, text, u8


def scalar(value) -> np.ndarray:
    return np.array(value, object)


def segments() -> None:
    nans = f32([[1, NAN], [-INF, 2], [INF, -1], [3, 4]])
    for op in ("SegmentSum", "SegmentProd", "SegmentMean", "SegmentMax", "SegmentMin"):
        for ids in ([0, 0, 1, 1], [0, 1, 1, 3], [2, 2, 2, 2], [0, 0, 0, 0], [1, 0, 1, 1], [-1, 0, 0, 0], [0, 0, 1]):
            case(op, data=ramp(4, 3), segment_ids=i32(ids))
        case(op, data=nans, segment_ids=i64(0, 0, 2, 2))
        case(op, data=nans, segment_ids=i64(0, 1, 1, 2))
        case(op, data=f32(NAN, 1, NAN, NAN, 1, NAN), segment_ids=i64(0, 0, 2, 2, 3, 3))
        case(op, data=i32(7, -3, 2**31 - 1, 1), segment_ids=i32(0, 0, 1, 1))
        case(op, data=i64(7, -3, 2**62, 2**62), segment_ids=i32(0, 0, 1, 1))
        case(op, data=u8(200, 100, 3), segment_ids=i32(0, 0, 2))
        case(op, data=ramp(4, dtype=np.float64), segment_ids=i32(0, 0, 1, 1))
        case(op, data=np.zeros((0, 2), np.float32), segment_ids=np.zeros((0,), np.int32))
        case(op, data=ramp(2, 0), segment_ids=i32(0, 1))
        case(op, data=ramp(2, 2), segment_ids=i32([[0, 1]]))
    for op in ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"):
        for ids, count in (([0, 2, 0, 1], 3), ([0, -1, 4, 0], 5), ([0, 0, 0, 3], 3), ([0, 0, 0, 0], 0), ([-1, -1, -1, -1], 2),
                           ([0, 1, 0], 2)):
            case(op, data=ramp(4, 3), segment_ids=i32(ids), num_segments=i32(count))
        case(op, data=ramp(2, 2, 3), segment_ids=i64([[0, 1], [1, 1]]), num_segments=i64(3))
        case(op, data=nans, segment_ids=i64(2, 0, 2, 0), num_segments=i32(3))
        case(op, data=f32(NAN, 1, NAN, NAN, 1, NAN, NAN), segment_ids=i64(0, 0, 2, 2, 3, 3, 1), num_segments=i32(4))
        case(op, data=i32(7, -3, 2**31 - 1, 1), segment_ids=i32(0, 0, 1, 1), num_segments=i32(3))
        case(op, data=i64(7, -3, 5, 1), segment_ids=i32(0, 0, 1, 1), num_segments=i32(3))
        case(op, data=u8(200, 100, 3), segment_ids=i32(0, 0, 2), num_segments=i32(4))
        case(op, data=i8(100, 100, -3), segment_ids=i32(0, 0, 2), num_segments=i32(4))
        case(op, data=f64(1.5), segment_ids=i32(1), num_segments=i32(2))
        case(op, data=np.zeros((0, 2), np.float32), segment_ids=np.zeros((0,), np.int32), num_segments=i32(2))
        case(op, data=ramp(4, 3), segment_ids=i32(0, 1, 0, 1), num_segments=i32(-1))
    for op in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
        for more in ({}, {"num_segments": i32(5)}, {"num_segments": i32(2)}):
            name = op + ("WithNumSegments" if more else "")
            for indices, ids in (([0, 2, 2, 4], [0, 0, 1, 1]), ([4, 0, 1, 1], [0, 1, 1, 3]), ([3, 3, 3, 3], [2, 2, 2, 2]),
                                 ([0, 5, 0, 0], [0, 0, 0, 0]),
                                 ([0, -1, 0, 0], [0, 0, 0, 0]), ([0, 0, 0, 0], [1, 0, 0, 0]), ([0, 0], [0, 0, 0])):
                case(name, data=ramp(5, 3), indices=i32(indices), segment_ids=i32(ids), **more)
            case(name, data=ramp(5, 2, 2), indices=i64(4, 1), segment_ids=i64(0, 1), **more)
            case(name, data=ramp(30, 2, dtype=np.float64), indices=i32(list(range(30))), segment_ids=i32([0] * 13 + [1] * 17), **more)
            case(name, data=ramp(5, 2), indices=np.zeros((0,), np.int32), segment_ids=np.zeros((0,), np.int32), **more)
            case(name, data=np.zeros((0, 2), np.float32), indices=np.zeros((0,), np.int32), segment_ids=np.zeros((0,), np.int32), **more)
    case("SparseSegmentSum", data=i32([[1, 2], [3, 2**31 - 1]]), indices=i32(1, 1, 0), segment_ids=i32(0, 0, 1))


def partitions() -> None:
    for parts, count in (([0, 1, 0, 2], 3), ([0, 0, 0, 0], 2), ([1, 1, 3, 0], 3), ([-1, 0, 0, 0], 1), ([0, 1, 0], 2)):
        case("DynamicPartition", data=ramp(4, 2), partitions=i32(parts), num_partitions=count)
    case("DynamicPartition", data=text([["a", "b"], ["c", ""]]), partitions=i32([[1, 0], [1, 1]]), num_partitions=2)
    case("DynamicPartition", data=i64(7), partitions=i32(1), num_partitions=2)
    case("DynamicPartition", data=np.zeros((0, 3), np.float32), partitions=np.zeros((0,), np.int32), num_partitions=2)
    case("DynamicPartition", data=flags(True, False), partitions=i32(1, 0), num_partitions=2)
    for op in ("DynamicStitch", "ParallelDynamicStitch"):
        case(op, indices=[i32(0, 2), i32(1)], data=[ramp(2, 3), ramp(3)])
        case(op, indices=[i32(0, 2), i32([[3, 1], [4, 5]])], data=[text("a", "b"), text([["c", "d"], ["e", "f"]])])
        case(op, indices=[i32(0, 1), i32(1)], data=[ramp(2, 3), ramp(2)])
        case(op, indices=[i32(0, -1)], data=[ramp(2, 3)])
        case(op, indices=[i32(0, 1)], data=[ramp(3)])
        case(op, indices=[np.zeros((0,), np.int32)], data=[np.zeros((0, 3), np.float32)])
    case("DynamicStitch", indices=[i32(0, 1), i32(1, 0)], data=[i64(1, 2), i64(3, 4)])


def sets() -> None:
    for op in ("Unique", "UniqueWithCounts"):
        for x in (i32(5, 1, 5, 5, 2, 1), i64(2**62, 0, 2**62), f32(0.0, -0.0, 1.5, 1.5), text("b", "a", "b", "", b"\0", ""), u8(1, 1, 2),
                  flags(True, True),
                  np.zeros((0,), np.int32), f64(-0.0, 0.0), i8(-1, 1, -1), i32([[1, 2]]), i32(1)):
            case(op, x=x)
        case(op, x=f32(NAN, 1, NAN, 1))
        case(op, x=i32(3, 3), out_idx=np.int64)
        case(f"{op}V2", x=i32(5, 1, 5), axis=i32([]))
        case(f"{op}V2", x=i32([[1, 2, 1], [3, 4, 3], [1, 2, 1]]), axis=i32([0]))
        case(f"{op}V2", x=i32([[1, 2, 1], [3, 4, 3], [1, 2, 1]]), axis=i64([1]), out_idx=np.int64)
        case(f"{op}V2", x=text([["a", "b"], ["a", "b"], ["ab", ""]]), axis=i64([0]))
        case(f"{op}V2", x=ramp(2, 3, 2), axis=i32([-2]))
        case(f"{op}V2", x=i32([[1, 2]]), axis=i32([]))
        case(f"{op}V2", x=i32([[1, 2]]), axis=i32([2]))
        case(f"{op}V2", x=i32([[1, 2]]), axis=i32(0, 1))
        case(f"{op}V2", x=np.zeros((0, 2), np.int32), axis=i32([0]))
    for condition in (flags([[True, False], [True, True]]), flags(True, False), f32([[0, -0.0, NAN], [INF, 1e-30, 0]]), i32(INTS),
                      u8(0, 2), i64([[[0, 1]], [[2, 0]]]),
                      flags(False, False), np.zeros((0, 2), bool), np.zeros((2, 0), np.float32), np.array(True), np.array(False), f64(0, 1), i8(0, -1)):
        case("Where", condition=condition)
    for x, y in ((i32(1, 2, 3, 2), i32(2, 5)), (text("a", "b", "a"), text(["b"])), (f32(NAN, 0.0, 1), f32(NAN, -0.0)),
                 (i64(1, 2), np.zeros((0,), np.int64)),
                 (np.zeros((0,), np.int32), i32([1])), (i32([[1]]), i32([1]))):
        case("ListDiff", x=x, y=y)
    case("ListDiff", x=i32(1, 2), y=i32([1]), out_idx=np.int64)
    scores = f32([[0.1, 0.3, 0.2], [0.5, 0.5, 0.5], [NAN, 1, 2], [1, INF, 2], [3, 2, 1]])
    for targets in ([1, 2, 1, 0, 2], [0, 0, 2, 1, 1], [3, -1, 0, 0, 0]):
        for k in (0, 1, 2, 3, 100, -1):
            case("InTopK", predictions=scores, targets=i32(targets), k=k)
            case("InTopKV2", predictions=scores, targets=i64(targets), k=i64(k))
    case("InTopK", predictions=scores, targets=i32(0, 1), k=1)


def counts() -> None:
    nothing = {kind: np.zeros((0,), kind) for kind in (np.int32, np.int64, np.float32, np.float64)}
    for kind, none in nothing.items():
        case("Bincount", arr=i32(1, 1, 2, 7, 0), size=i32(4), weights=none)
        case("DenseBincount", input=i64([[1, 1, 2], [7, 0, 1]]), size=i64(4), weights=none)
        case("DenseBincount", input=i64([[1, 1, 2], [7, 0, 1]]), size=i64(4), weights=none, binary_output=True)
        case("DenseBincount", input=i32(1, 1, 2), size=i32(4), weights=np.array([1, 2, 3], kind))
        case("RaggedBincount", splits=i64(0, 2, 2, 5), values=i32(1, 1, 2, 7, 0), size=i32(4), weights=none)
        case("RaggedBincount", splits=i64(0, 2, 2, 5), values=i32(1, 1, 2, 7, 0), size=i32(4), weights=none, binary_output=True)
        case("RaggedBincount", splits=i64(0, 2, 2, 5), values=i64(1, 1, 2, 3, 0), size=i64(4), weights=np.array([1, 2, 3, 4, 5], kind))
        case("SparseBincount", indices=i64([[0, 0], [0, 1], [2, 1]]), values=i32(1, 1, 3), dense_shape=i64(3, 2), size=i32(4), weights=none)
        case("SparseBincount", indices=i64([[0], [1], [2]]), values=i32(1, 1, 3), dense_shape=i64([4]), size=i32(4),
             weights=np.array([1, 2, 3], kind))
    none = nothing[np.float32]
    case("Bincount", arr=i32([[1, 1], [2, 0]]), size=i32(3), weights=f32([[1, 2], [3, 4]]))
    case("Bincount", arr=i32(1, -1), size=i32(3), weights=none)
    case("Bincount", arr=i32(1, 1), size=i32(-3), weights=none)
    case("Bincount", arr=i32(1, 1), size=i32(0), weights=none)
    case("Bincount", arr=i32(1, 1), size=i32(3), weights=f32(1, 2, 3))
    case("Bincount", arr=np.zeros((0,), np.int32), size=i32(3), weights=none)
    for size in (i32(-1), i32(0), i32([3])):
        case("DenseBincount", input=i32(1, 1), size=size, weights=none)
    case("DenseBincount", input=i32(1, -1), size=i32(3), weights=none)
    case("DenseBincount", input=i32(1), size=i32(3), weights=none)
    case("DenseBincount", input=i32([[[1]]]), size=i32(3), weights=none)
    case("DenseBincount", input=i32([[1, 2]]), size=i32(3), weights=f32([[1, 2, 3]]))
    case("DenseBincount", input=np.zeros((2, 0), np.int32), size=i32(3), weights=none)
    case("DenseBincount", input=i32(1, 1), size=i32(3), weights=f32(2, 3), binary_output=True)
    for splits in ([1, 2, 5], [0, 2], [0, 9]):  # No decreasing splits: TensorFlow accepts them.
        case("RaggedBincount", splits=i64(splits), values=i32(1, 1, 2, 7, 0), size=i32(4), weights=none)
    case("RaggedBincount", splits=i64(0, 2), values=i32(1, -1), size=i32(4), weights=none)
    case("SparseBincount", indices=i64([[0, 0], [3, 1]]), values=i32(1, 1), dense_shape=i64(3, 2), size=i32(4), weights=none)
    case("SparseBincount", indices=np.zeros((0, 2), np.int64), values=np.zeros((0,), np.int32), dense_shape=i64(3, 2), size=i32(4),
         weights=none)
    for x in (f32(-1, 0, 0.5, 1, 9.99, 10, INF, -INF, NAN), i32(INTS), i64([[0, 10], [11, -5]]), f64(0.1, 10), np.zeros((0,), np.float32)):
        case("Bucketize", input=x, boundaries=[0.0, 1.0, 10.0])
        case("Bucketize", input=x, boundaries=[0.1, 0.1])
        case("Bucketize", input=x, boundaries=[])
    case("Bucketize", input=f32(1), boundaries=[2.0, 1.0])


def sparse() -> None:
    three = i64([[0, 1], [1, 0], [2, 2]])
    for value, zero in ((f32(1, 2, 3), f32(9)), (text("a", "b", ""), scalar("-")), (f32(5), f32(0)),
                        (flags(True, True, False), np.array(True)), (i64(1, 2, 3), i64(0))):
        case("SparseToDense", sparse_indices=three, output_shape=i64(3, 3), sparse_values=value, default_value=zero)
    one = {"sparse_values": f32(1, 2), "default_value": f32(0)}
    for indices, shape in (([[0], [2]], [3]), ([0, 2], [3]), ([2, 0], [3]), ([1, 1], [3]), ([0, 3], [3]), ([0, -1], [3]),
                           ([[0, 0], [0, 1]], [2]), ([0, 1], [2, 2]), ([0, 1], [-1])):
        for checked in (True, False):
            case("SparseToDense", sparse_indices=i32(indices), output_shape=i32(shape), validate_indices=checked, **one)
    case("SparseToDense", sparse_indices=i32(1), output_shape=i32([3]), sparse_values=f32(4), default_value=f32(0))
    case("SparseToDense", sparse_indices=i32(1), output_shape=i32([3]), sparse_values=f32(4, 5), default_value=f32(0))
    case("SparseToDense", sparse_indices=np.zeros((0, 2), np.int64), output_shape=i64(2, 2), sparse_values=np.zeros((0,), np.float32),
         default_value=f32(7))
    case("SparseToDense", sparse_indices=i32(0, 1), output_shape=i32([3]), sparse_values=f32(4, 5), default_value=f32([0]))
    for indices, values, shape in (([[0, 1], [0, 3], [2, 0], [3, 1]], text("a", "b", "c", "d"), [5, 6]),
                                   ([[1, 1], [0, 0], [1, 0]], f32(1, 2, 3), [3, 2]),
                                   ([[0, 0], [1, 0]], i64(1, 2), [2, 1]), ([[0], [3]], i64(1, 2), [4]), ([[0, 0], [5, 0]], i64(1, 2),
                                                                                                         [2, 1]),
                                   ([[0, 0], [-1, 0]], i64(1, 2), [2, 1])):
        case("SparseFillEmptyRows", indices=i64(indices), values=values, dense_shape=i64(shape),
             default_value=scalar("?") if values.dtype.kind == "O" else np.array(-1, values.dtype))
    empty = {"indices": np.zeros((0, 2), np.int64), "values": np.zeros((0,), np.float32), "default_value": f32(-1)}
    case("SparseFillEmptyRows", dense_shape=i64(2, 2), **empty)
    case("SparseFillEmptyRows", dense_shape=i64(0, 2), **empty)
    case("SparseFillEmptyRows", indices=i64([[0, 0]]), values=f32([1]), dense_shape=i64(0, 2), default_value=f32(-1))
    case("SparseFillEmptyRows", indices=i64([[0, 0]]), values=f32([1]), dense_shape=i64(2, 2), default_value=f32([-1]))
    case("SparseFillEmptyRows", indices=i64([[0, 0]]), values=f32(1, 2), dense_shape=i64(2, 2), default_value=f32(-1))
    for shape in ([9], [-1], [9, 1], [1, -1, 3], [2, 2], [-1, -1], [4, -1], [3, 3], [0, -1]):
        case("SparseReshape", input_indices=three, input_shape=i64(3, 3), new_shape=i64(shape))
    case("SparseReshape", input_indices=np.zeros((0, 2), np.int64), input_shape=i64(0, 3), new_shape=i64(3, 0))
    case("SparseReshape", input_indices=np.zeros((0, 2), np.int64), input_shape=i64(2, 3), new_shape=i64(6))
    case("SparseReorder", input_indices=i64([[2, 0], [0, 1], [0, 0]]), input_values=text("c", "b", "a"), input_shape=i64(3, 2))
    case("SparseReorder", input_indices=i64([[2, 0], [0, 1]]), input_values=f32(1, 2), input_shape=i64(3, 2))
    case("SparseReorder", input_indices=np.zeros((0, 2), np.int64), input_values=np.zeros((0,), np.float32), input_shape=i64(3, 2))
    for start, size in (([0, 0], [3, 3]), ([1, 0], [2, 3]), ([0, 1], [1, 1]), ([2, 2], [5, 5]), ([0, 0], [0, 0]), ([5, 5], [1, 1]),
                        ([0], [1])):
        case("SparseSlice", indices=three, values=f32(1, 2, 3), shape=i64(3, 3), start=i64(start), size=i64(size))
    two = {"indices": [three, i64([[1, 1], [0, 2]])], "values": [text("a", "b", "c"), text("d", "e")], "shapes": [i64(3, 3), i64(3, 3)]}
    for axis in (0, 1, -1, 2):
        case("SparseConcat", concat_dim=axis, **two)
    case("SparseConcat", concat_dim=0, indices=two["indices"], values=two["values"], shapes=[i64(3, 3), i64(3, 4)])
    case("SparseConcat", concat_dim=1, indices=two["indices"], values=[f32(1, 2, 3), f32(4, 5)], shapes=[i64(3, 3), i64(3, 4)])
    matrix = {"a_indices": i64([[0, 1], [2, 0], [0, 0], [0, 1]]), "a_shape": i64(3, 2)}
    for a in (False, True):
        for b in (False, True):
            inner = 3 if a else 2
            right = ramp(5, inner) if b else ramp(inner, 5)
            case("SparseTensorDenseMatMul", a_values=f32(1, 2, 3, 0.5), b=right, adjoint_a=a, adjoint_b=b, **matrix)
            case("SparseTensorDenseMatMul", a_values=f64(1, 2, 3, 0.5), b=right.astype(np.float64), adjoint_a=a, adjoint_b=b, **matrix)
    case("SparseTensorDenseMatMul", a_values=i32(1, 2, 3, 4), b=i32([[1, 2], [3, 4]]), **matrix)
    case("SparseTensorDenseMatMul", a_values=f32(1, 2, 3, 4), b=ramp(3, 2), **matrix)
    case("SparseTensorDenseMatMul", a_values=f32(1, 2, 3), b=ramp(2, 2), **matrix)
    case("SparseTensorDenseMatMul", a_values=f32([1]), b=ramp(2, 2), a_indices=i64([[3, 0]]), a_shape=i64(3, 2))
    case("SparseTensorDenseMatMul", a_values=f32([1]), b=ramp(2, 2), a_indices=i64([[0, 2]]), a_shape=i64(3, 2))
    case("SparseTensorDenseMatMul", a_values=np.zeros((0,), np.float32), b=ramp(2, 2), a_indices=np.zeros((0, 2), np.int64),
         a_shape=i64(3, 2))


def ragged() -> None:
    for kind in (np.int32, np.int64, np.float32, np.float64):
        def n(*values, kind=kind):
            return np.array(values, kind)

        for splits in (np.int32, np.int64):
            case("RaggedRange", starts=n(0, 5, 8), limits=n(3, 5, 12), deltas=np.array(1, kind), Tsplits=splits)
        case("RaggedRange", starts=n(0, 5, 8), limits=n(10, 0, 8), deltas=n(3, -2, 1))
        case("RaggedRange", starts=np.array(0, kind), limits=n(0, 2, -1), deltas=np.array(1, kind))
        case("RaggedRange", starts=np.array(0, kind), limits=np.array(3, kind), deltas=np.array(1, kind))
        case("RaggedRange", starts=n(0), limits=n(3), deltas=n(0))
        case("RaggedRange", starts=n(0, 1), limits=n(3, 4, 5), deltas=n(1))
        case("RaggedRange", starts=n(), limits=n(), deltas=np.array(1, kind))
    case("RaggedRange", starts=f32([0]), limits=f32([1]), deltas=f32([0.1]))
    case("RaggedRange", starts=i32([-(2**31)]), limits=i32([2**31 - 1]), deltas=i32([2**30]))
    case("RaggedRange", starts=f32([0]), limits=f32([INF]), deltas=f32([1]))
    words = text("a", "b", "c", "d", "e", "f")
    rows = [i64(0, 2, 2, 5, 6)]
    for indices in (i64(3, 0, 1, 2, 0), i64([[1, 2], [0, 0]]), np.zeros((0,), np.int64), i64([4]), i64([-1]), i64([[[2]], [[0]]])):
        case("RaggedGather", params_nested_splits=rows, params_dense_values=words, indices=indices, OUTPUT_RAGGED_RANK=max(1, indices.ndim))
    case("RaggedGather", params_nested_splits=[i32(0, 1, 3), i32(0, 2, 2, 3)], params_dense_values=ramp(3, 2), indices=i32(1, 0, 1),
         OUTPUT_RAGGED_RANK=2)
    case("RaggedGather", params_nested_splits=[i32(0, 2, 5)], params_dense_values=ramp(3), indices=i32([0]), OUTPUT_RAGGED_RANK=1)
    case("RaggedGather", params_nested_splits=[i32(0, 2, 1)], params_dense_values=ramp(3), indices=i32(0, 1), OUTPUT_RAGGED_RANK=1)
    for splits, values in ((rows, words), ([i64(0, 1, 3), i64(0, 2, 2, 3)], ramp(3, 2)), ([i64([0])], np.zeros((0,), np.float32)),
                           ([i64(0, 0, 0)], np.zeros((0,), np.float32)),
                           ([i32(0, 2, 3)], ramp(3, 2, 2)), ([i64(0, 2, 5)], ramp(3)), ([i64(1, 3)], ramp(3)),
                           ([i64(0, 2, 1, 3)], ramp(3)), ([i64(0, 0, 3)], ramp(3, 0))):
        case("RaggedTensorToSparse", rt_nested_splits=splits, rt_dense_values=values)


def filled() -> None:
    words = text("a", "b", "c", "d", "e", "f")
    row_splits = {"row_partition_tensors": [i64(0, 2, 2, 5, 6)], "row_partition_types": ["ROW_SPLITS"]}
    row_ids = {"row_partition_tensors": [i64(4), i64(0, 0, 2, 2, 2, 3)], "row_partition_types": ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]}
    for by in (row_splits, row_ids):
        for shape in (i64(-1), i64(-1, -1), i64(2, 2), i64(6, 5), i64(-1, 1), i64(0, 0), i64([4]), i64(3), i64(-2, 2), i64(-1, -1, 1),
                      i32(4, -1)):
            case("RaggedTensorToTensor", shape=shape, values=words, default_value=scalar("-"), **by)
        case("RaggedTensorToTensor", shape=i64(-1, -1, -1), values=ramp(6, 2), default_value=f32(9), **by)
        case("RaggedTensorToTensor", shape=i64(-1, -1, 2), values=ramp(6, 2), default_value=f32(9, 8), **by)
        case("RaggedTensorToTensor", shape=i64(-1, -1, 3), values=ramp(6, 2), default_value=f32(9), **by)
        case("RaggedTensorToTensor", shape=i64(-1), values=ramp(6, 2), default_value=f32([9]), **by)
        case("RaggedTensorToTensor", shape=i64(-1), values=ramp(6, 2), default_value=f32(9, 8, 7), **by)
        case("RaggedTensorToTensor", shape=i64(-1), values=ramp(6, 2), default_value=f32([[9, 8]]), **by)
        case("RaggedTensorToTensor", shape=i64(-1), values=ramp(6, 2, 2), default_value=f32(9, 8), **by)
        case("RaggedTensorToTensor", shape=i64(-1), values=ramp(7), default_value=f32(9), **by)
    two_levels = {"row_partition_tensors": [i32(0, 2, 2, 3), i32(0, 2, 2, 3)], "row_partition_types": ["ROW_SPLITS", "ROW_SPLITS"]}
    for shape in (i32(-1), i32(-1, -1, -1), i32(2, 1, 1), i32(4, 3, 3)):
        case("RaggedTensorToTensor", shape=shape, values=i64(7, 8, 9), default_value=i64(0), **two_levels)
    case("RaggedTensorToTensor", shape=i64(-1), values=i64(7, 8, 9), default_value=i64(0), row_partition_tensors=[i64(3), i64(0, 0, 2), i64(0, 0, 2)],
         row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS", "VALUE_ROWIDS"])
    for splits in ([0, 2, 1, 6], [1, 6], [0, 5], []):  # Not [0, 7], one value too many: it aborts TensorFlow's process.
        case("RaggedTensorToTensor", shape=i64(-1), values=words, default_value=scalar("-"), row_partition_tensors=[i64(splits)],
             row_partition_types=["ROW_SPLITS"])
    for ids in ([0, 0, 0, 0, 0, 4], [-1, 0, 0, 0, 0, 0], [0, 0, 0]):
        case("RaggedTensorToTensor", shape=i64(-1), values=words, default_value=scalar("-"), row_partition_tensors=[i64(4), i64(ids)],
             row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
    case("RaggedTensorToTensor", shape=i64(-1), values=words[:0], default_value=scalar("-"), row_partition_tensors=[i64(0, 0, 0)],
         row_partition_types=["ROW_SPLITS"])
    case("RaggedTensorToTensor", shape=i64(2, 3), values=words[:0], default_value=scalar("-"), row_partition_tensors=[i64([0])],
         row_partition_types=["ROW_SPLITS"])


for family in (segments, partitions, sets, counts, sparse, ragged, filled):
    family()
