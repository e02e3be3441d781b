"""Arithmetic, shapes, reductions, products, moves, the first strings and examples."""

import numpy as np
import tensorflow as tf

from op_cases.case import EDGES, INF, INTS, NAN, case, f32, f64, flags, i8, i32, i64, ramp, text, u8


def unary() -> None:
    for op in ("Abs", "Neg", "Square", "Sign", "Round", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Exp", "Expm1", "Log", "Log1p",
               "Sin", "Cos", "Tan", "Atan", "Tanh", "Erf", "Erfc", "Floor", "Ceil", "Rint", "Sigmoid"):
        # Above 1e4 libraries reduce angles differently.
        edges = [v for v in EDGES if v != 1e6] if op in ("Sin", "Cos", "Tan") else EDGES
        case(op, x=f32(edges))
        # TensorFlow's erf of infinity is NaN in double and 1 in float: the engine answers 1.
        case(op, x=f64([v for v in edges if abs(v) != INF] if op == "Erf" else edges))
    for op in ("Softplus", "Softsign", "Elu", "Selu", "Relu", "Relu6", "LeakyRelu"):
        case(op, features=f32(EDGES))
        case(op, features=f64(EDGES))
    case("LeakyRelu", features=f32(EDGES), alpha=0.3)
    for op in ("IsNan", "IsInf", "IsFinite"):
        case(op, x=f32(EDGES))
        case(op, x=f64(EDGES))
    # TensorFlow's Round of integers returns zeros, which is a bug: the engine returns them unchanged.
    for op in ("Abs", "Neg", "Square", "Sign"):
        case(op, x=i32(INTS))
        case(op, x=i8(-128, -1, 0, 127))
    case("Relu", features=i32(INTS))
    case("Exp", x=f32(0.5))
    case("Exp", x=np.zeros((0, 3), np.float32))


def binary() -> None:
    left = [0.0, -0.0, 1.0, NAN, 1.0, INF, INF, -INF, 5.5, -5.5, 5.5, -5.5, NAN, 0.0, 2.0, -8.0, 1e30, 3.0, -3.0]
    right = [0.0, 0.0, NAN, 1.0, 0.0, INF, -INF, 2.0, 2.0, 2.0, -2.0, -2.0, NAN, -0.0, 0.5, 1 / 3, 1e30, INF, -INF]
    for op in ("AddV2", "Add", "Sub", "Mul", "Div", "RealDiv", "FloorDiv", "FloorMod", "Mod", "TruncateMod", "DivNoNan", "MulNoNan",
               "Maximum", "Minimum", "SquaredDifference", "Pow"):
        case(op, x=f32(left), y=f32(right))
        case(op, x=f64(left), y=f64(right))
        case(op, x=ramp(2, 3, 1), y=ramp(3, 4, scale=0.5))
        case(op, x=ramp(4), y=f32(2.0))
        case(op, x=ramp(2, 3), y=ramp(2))
        case(op, x=np.zeros((0, 3), np.float32), y=ramp(1, 3))
    case("Atan2", x=f32(left[:13]), y=f32(right[:13]))
    a, b = [7, -7, 7, -7, 0, 2**31 - 1, -(2**31), -(2**31), 5], [2, 2, -2, -2, 3, 2**31 - 1, -1, 2, -5]
    for op in ("AddV2", "Sub", "Mul", "Div", "TruncateDiv", "FloorDiv", "FloorMod", "TruncateMod", "Maximum", "Minimum",
               "SquaredDifference"):
        case(op, x=i32(a), y=i32(b))
        case(op, x=i64(a), y=i64(b))
        case(op, x=u8(7, 200, 255, 0), y=u8(2, 100, 255, 3))
    for op in ("Div", "TruncateDiv", "FloorDiv", "FloorMod", "TruncateMod"):
        case(op, x=i32(1, 2), y=i32(1, 0))
    case("Pow", x=i32(2, -3, 0, 10, 1), y=i32(10, 3, 0, 12, 0))
    case("Pow", x=i32(2), y=i32(-1))
    case("AddN", inputs=[ramp(2, 2), ramp(2, 2), f32([[1, NAN], [INF, 0]])])
    case("AddN", inputs=[ramp(2, 2), ramp(2)])
    case("Add", x=text("a", ""), y=text("b", "cd"))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        case(op, x=i32(INTS), y=i32(5))
        case(op, x=u8(7, 200), y=u8(255, 15))


def logic() -> None:
    a, b = [1.0, NAN, NAN, INF, -0.0, 2.0], [1.0, NAN, 1.0, INF, 0.0, 1.0]
    for op in ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"):
        case(op, x=f32(a), y=f32(b))
        case(op, x=i64(INTS), y=i64(1))
        case(op, x=ramp(2, 1), y=ramp(3))
        case(op, x=ramp(2), y=ramp(3))
    for op in ("Equal", "NotEqual"):
        case(op, x=text("a", "b"), y=text("a"))
        case(op, x=flags(True, False), y=flags(True, True))
        case(op, x=ramp(2), y=ramp(3), incompatible_shape_error=False)
    for op in ("LogicalAnd", "LogicalOr"):
        case(op, x=flags(True, True, False, False), y=flags(True, False, True, False))
    case("LogicalNot", x=flags(True, False))
    case("SelectV2", condition=flags([[True], [False]]), t=ramp(3), e=f32(9.0))
    case("SelectV2", condition=flags(True), t=text("yes"), e=text("no"))
    case("SelectV2", condition=flags(True, False), t=ramp(3), e=ramp(3))
    case("Select", condition=flags(True, False), x=ramp(2, 3), y=-ramp(2, 3))
    case("Select", condition=flags(False), x=ramp(2, 3), y=-ramp(2, 3))
    case("Select", condition=flags([[True, False]]), x=i32([[1, 2]]), y=i32([[3, 4]]))


def reduce() -> None:
    nans = f32([[1, NAN, 3], [NAN, NAN, NAN], [INF, -INF, 0], [-2, -1, -3]])
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        case(op, input=nans, axis=i32(1))
        case(op, input=nans, axis=i32([0]), keep_dims=True)
        case(op, input=ramp(2, 3, 5), axis=i32([0, -1]))
        case(op, input=ramp(2, 3, 5), axis=i32([]))
        case(op, input=ramp(2, 3, 5), axis=i32([0, 1, 2]))
        case(op, input=np.zeros((2, 0), np.float32), axis=i32(1))
        case(op, input=np.zeros((0, 2), np.float32), axis=i32(1))
        case(op, input=np.zeros((2, 0), np.int32), axis=i32(1))
        case(op, input=i32([[2**31 - 1, 1], [-7, 2]]), axis=i32(1))
        case(op, input=i64([[2**62, 2**62], [-7, 2]]), axis=i32(1))
        case(op, input=u8([[200, 100], [1, 2]]), axis=i32(1))
        case(op, input=i8([[100, 100], [-7, 2]]), axis=i32(1))
        case(op, input=ramp(2, 3), axis=i32(2))
        case(op, input=ramp(2, 3), axis=i32([0, 0]))
        case(op, input=f32(3.5), axis=i32([]))
        case(op, input=ramp(64, 9, dtype=np.float64), axis=i64(0))
    case("Mean", input=np.full((5000,), 0.1, np.float32), axis=i32(0))
    case("Sum", input=np.full((5000,), 0.1, np.float32), axis=i32(0))
    for op in ("All", "Any"):
        case(op, input=flags([[True, False], [True, True], [False, False]]), axis=i32(1))
        case(op, input=np.zeros((2, 0), bool), axis=i32(1))
    for op in ("ArgMax", "ArgMin"):
        case(op, input=f32([[1, 3, 3, 0], [0, 0, 0, 0], [-1, -5, -5, 2]]), dimension=i32(1))
        case(op, input=f32([[NAN, 1, 2], [1, NAN, 2], [3, NAN, 2], [NAN, NAN, NAN], [INF, NAN, INF]]), dimension=i32(1))
        case(op, input=f32([[-INF, -INF], [INF, INF]]), dimension=i32(1))
        case(op, input=ramp(3, 4, 2), dimension=i32(-2), output_type=np.int32)
        case(op, input=i32(3, 9, 9, 1), dimension=i64(0))
        case(op, input=np.zeros((2, 0), np.float32), dimension=i32(1))
        case(op, input=np.zeros((0, 2), np.float32), dimension=i32(1))
        case(op, input=ramp(3), dimension=i32(1))


def casts() -> None:
    floats = [0.0, -0.0, 0.9, -0.9, 1.5, 2.5, -1.5, 254.0, 100.7]
    wide = floats + [256.0, -1.0, 300.7, 70000.0, -70000.0]
    huge = [2.0**31, -(2.0**31) - 512, 2.0**40, 2.0**63, -(2.0**64), 1e30, NAN, INF, -INF]
    for to in (np.int32, np.int64, np.uint8, np.int8, np.bool_, np.float64, np.int16, np.uint16, np.uint32, np.uint64, np.float16):
        case("Cast", x=f32(wide), DstT=to)
        case("Cast", x=f64(wide), DstT=to)
        case("Cast", x=i32(INTS), DstT=to)
        case("Cast", x=i64(INTS + [2**40 + 3, -(2**40)]), DstT=to)
        case("Cast", x=flags(True, False), DstT=to)
    for to in (np.int32, np.int64, np.bool_, np.float64, np.float16):
        case("Cast", x=f32(huge), DstT=to)
        case("Cast", x=f64(huge), DstT=to)
    case("Cast", x=np.array([0.1, 1.5, 65504, INF, NAN, 6e-8], np.float16), DstT=np.float32)
    case("Cast", x=f64(1e300, 0.1, -1e-320), DstT=np.float32)
    case("Cast", x=f32(1, 2), DstT=np.float32)
    case("Bitcast", input=f32(1.0, -0.0), type=np.int32)
    case("Bitcast", input=u8([1, 0, 0, 0], [2, 1, 0, 0]), type=np.int32)
    case("Bitcast", input=i32(258), type=np.uint8)
    case("DecodeRaw", bytes=text("abcd", "efgh"), out_type=np.uint8)
    case("DecodeRaw", bytes=text("abcd", "efgh"), out_type=np.int16)
    case("DecodeRaw", bytes=text("abcd", "efgh"), out_type=np.int16, little_endian=False)
    case("DecodeRaw", bytes=text("abcd"), out_type=np.int32)
    case("DecodeRaw", bytes=text("abcd", "e"), out_type=np.uint8)
    case("DecodeRaw", bytes=text("abc"), out_type=np.int16)
    case("DecodeRaw", bytes=np.zeros((0,), object), out_type=np.uint8)


def windows() -> None:
    filters = ramp(3, 3, 2, 4, scale=0.125)
    for padding in ("SAME", "VALID"):
        for strides in ([1, 1, 1, 1], [1, 2, 2, 1], [1, 1, 3, 1]):
            case("Conv2D", input=ramp(2, 7, 6, 2), filter=filters, strides=strides, padding=padding)
            case("MaxPool", input=ramp(1, 7, 6, 2), ksize=[1, 3, 2, 1], strides=strides, padding=padding)
            case("AvgPool", value=ramp(1, 7, 6, 2), ksize=[1, 3, 2, 1], strides=strides, padding=padding)
            case("DepthwiseConv2dNative", input=ramp(1, 7, 7, 2), filter=filters, padding=padding,
                 strides=[1, strides[1], strides[1], 1])
        case("Conv2D", input=ramp(1, 8, 9, 2), filter=filters, strides=[1, 1, 1, 1], padding=padding, dilations=[1, 2, 2, 1])
        case("Conv2D", input=ramp(1, 5, 5, 3), filter=ramp(2, 2, 3, 17), strides=[1, 1, 1, 1], padding=padding)
        case("Conv2D", input=ramp(2, 5, 5, 6), filter=ramp(3, 3, 3, 4), strides=[1, 1, 1, 1], padding=padding)
        case("Conv2D", input=ramp(1, 5, 4, 4), filter=ramp(2, 2, 1, 8), strides=[1, 2, 2, 1], padding=padding)
    one = {"strides": [1, 1, 1, 1], "padding": "VALID"}
    case("Conv2D", input=ramp(1, 4, 4, 2), filter=filters, strides=[1, 1, 1, 1], padding="EXPLICIT",
         explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])
    case("Conv2D", input=ramp(1, 2, 4, 2), filter=filters, **one)
    case("Conv2D", input=ramp(1, 4, 4, 3), filter=filters, **one)
    case("Conv2D", input=ramp(1, 4, 4, 6), filter=ramp(3, 3, 3, 5), **one)
    case("Conv2D", input=np.zeros((0, 4, 4, 2), np.float32), filter=filters, **one)
    case("Conv2D", input=ramp(4, 4, 2), filter=filters, **one)
    case("Conv2D", input=ramp(1, 4, 4, 2, dtype=np.float64), filter=filters.astype(np.float64), **one)
    spots = f32([1, NAN, 3, 4, INF, -INF, -1, -2, -3, -4, NAN, NAN, 0, -0.0, -INF, -INF]).reshape(1, 4, 4, 1)
    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            pool = {"ksize": [1, 2, 2, 1], "strides": [1, stride, stride, 1], "padding": padding}
            case("MaxPool", input=spots, **pool)
            case("AvgPool", value=spots, **pool)
    case("MaxPool", input=ramp(1, 2, 2, 1), ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="VALID")


def products() -> None:
    for a, b in ((False, False), (True, False), (False, True), (True, True)):
        left = ramp(7, 5) if not a else ramp(5, 7)
        right = ramp(5, 19) if not b else ramp(19, 5)
        case("MatMul", a=left, b=right, transpose_a=a, transpose_b=b)
        stack = ramp(2, 1, *left.shape), ramp(3, *right.shape)
        case("BatchMatMulV2", x=stack[0], y=stack[1], adj_x=a, adj_y=b)
    case("BatchMatMul", x=ramp(2, 2, 3), y=ramp(2, 3, 2))
    case("MatMul", a=ramp(2, 3), b=ramp(2, 3))
    case("MatMul", a=np.zeros((2, 0), np.float32), b=np.zeros((0, 3), np.float32))
    case("MatMul", a=np.zeros((0, 2), np.float32), b=ramp(2, 3))
    case("MatMul", a=i32([[2**30, 3], [1, 2]]), b=i32([[4, 1], [0, 1]]))
    case("MatMul", a=f32([[0, 1]]), b=f32([[NAN, INF], [1, 1]]))
    case("MatMul", a=ramp(3), b=ramp(3, 1))
    for equation, shapes in (("ab,bc->ac", [(2, 3), (3, 4)]), ("abc,cd->abd", [(2, 3, 4), (4, 5)]), ("abc,abd->acd", [(2, 3, 4), (2, 3, 5)]),
                             ("ab->ba", [(2, 3)]), ("ab->a", [(2, 3)]), ("aa->a", [(3, 3)]), ("abcd,aecd->acbe", [(1, 2, 3, 4), (1, 5, 3, 4)]),
                             ("a,b->ab", [(2,), (3,)]), ("ab,ab->", [(2, 3), (2, 3)]), ("ab,bc->ac", [(2, 3), (4, 5)])):
        case("Einsum", inputs=[ramp(*shape) for shape in shapes], equation=equation)
    case("BiasAdd", value=ramp(2, 3, 4), bias=ramp(4))
    case("BiasAdd", value=ramp(2, 4, 3, 4), bias=ramp(4), data_format="NCHW")
    case("BiasAdd", value=ramp(2, 3), bias=ramp(4))
    norm = {"scale": f32(1, 2), "offset": f32(0.5, -1), "mean": f32(0.25, 0), "variance": f32(1, 0), "is_training": False}
    for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        case(op, 1, x=ramp(2, 2, 3, 2), epsilon=0.001, **norm)
    case("FusedBatchNormV3", 1, x=ramp(2, 2, 3, 3), **norm)


def softmax() -> None:
    rows = f32([[1, 2, 3], [1000, 0, -1000], [NAN, 1, 2], [INF, 1, 2], [-INF, 0, 1], [-INF, -INF, -INF], [5, 5, 5]])
    for op in ("Softmax", "LogSoftmax"):
        case(op, logits=rows)
        case(op, logits=rows.astype(np.float64))
        case(op, logits=ramp(2, 3, 11))
        case(op, logits=np.zeros((0, 3), np.float32))
        case(op, logits=f32(1.0))


def shapes() -> None:
    case("Shape", input=ramp(2, 3))
    case("Shape", input=f32(1.0), out_type=np.int64)
    case("ShapeN", input=[ramp(2, 3), ramp(4)])
    case("Rank", input=ramp(2, 3))
    case("Size", input=np.zeros((2, 0), np.float32))
    for shape in ([3, 2], [-1], [-1, 2], [6, 1, -1], [-1, -1], [4], [-2, 3], [0, -1]):
        case("Reshape", tensor=ramp(2, 3), shape=i32(shape))
    case("Reshape", tensor=f32(1.0), shape=i32([]))
    case("Reshape", tensor=np.zeros((0, 3), np.float32), shape=i32(-1, 3))
    case("Reshape", tensor=np.zeros((0, 3), np.float32), shape=i32(0, -1))
    case("Reshape", tensor=np.zeros((0, 3), np.float32), shape=i32([-1]))
    for axis in (0, 1, -1, -3, 3, -4):
        case("ExpandDims", input=ramp(2, 3), axis=i32(axis))
    case("Squeeze", input=ramp(1, 2, 1))
    case("Squeeze", input=ramp(1, 2, 1), axis=[-1])
    case("Squeeze", input=ramp(1, 2, 1), axis=[1])
    case("BroadcastArgs", s0=i32(2, 1), s1=i32([3]))
    case("BroadcastArgs", s0=i64(2, 1), s1=i64(1, 5))
    case("BroadcastArgs", s0=i64(2, 1), s1=i64([]))
    case("BroadcastArgs", s0=i32(2, 1), s1=i32(3))
    case("BroadcastArgs", s0=i64(2, 1), s1=i64(3, 5))
    case("Identity", input=text("a"))
    case("IdentityN", input=[ramp(2), text("a")])
    case("StopGradient", input=ramp(2))
    case("PreventGradient", input=ramp(2))
    case("Snapshot", input=ramp(2))
    case("PlaceholderWithDefault", input=ramp(2), shape=[2])
    case("ZerosLike", x=f32(NAN, 1))
    case("ZerosLike", x=text("a"))
    case("OnesLike", x=i64(5, 6))
    case("OnesLike", x=flags(False, True))
    case("Fill", dims=i32(2, 2), value=text("a"))
    case("Fill", dims=i32([]), value=f32(1.5))
    case("Fill", dims=i32(0, 2), value=f32(1.5))
    case("Fill", dims=i32(-1), value=f32(1.5))
    case("Fill", dims=i32(2), value=f32(1.5, 2))
    for start, limit, delta in ((0, 5, 1), (5, 0, -2), (0, 0, 1), (3, 3, -1), (0, 5, -1), (5, 0, 1), (0, 5, 0), (-(2**31), 2**31 - 1, 2**30)):
        case("Range", start=i32(start), limit=i32(limit), delta=i32(delta))
        case("Range", start=i64(start), limit=i64(limit), delta=i64(delta))
    for start, limit, delta in ((0, 1, 0.1), (0, 1, 0.25), (1, 0, -0.3), (0, 1, -0.1), (0, NAN, 1), (0, INF, 1), (0, 1.00001, 0.2)):
        case("Range", start=f32(start), limit=f32(limit), delta=f32(delta))
        case("Range", start=f64(start), limit=f64(limit), delta=f64(delta))


def moves() -> None:
    block = ramp(2, 3, 4)
    for order in ([2, 0, 1], [0, 1, 2], [-1, 0, 1], [0, 0, 1], [0, 1], [3, 0, 1]):
        case("Transpose", x=block, perm=i32(order))
    for begin, size in (([0, 1, 2], [2, -1, 1]), ([0, 0, 4], [-1, -1, 0]), ([0, 3, 0], [2, 1, 1]), ([-1, 0, 0], [1, 1, 1]), ([0, 0], [1, 1])):
        case("Slice", input=block, begin=i32(begin), size=i32(size))
    cuts = (([0], [2], [1], {}), ([-1], [-3], [-1], {}), ([1], [100], [1], {}), ([5], [0], [-2], {}), ([0], [2], [0], {}),
            ([0, 1], [2, 3], [1, 1], {"shrink_axis_mask": 2}), ([0, 5], [2, 6], [1, 1], {"shrink_axis_mask": 2}),
            ([0, 0], [0, 2], [1, 1], {"ellipsis_mask": 1}), ([0, 0], [0, 0], [1, 1], {"new_axis_mask": 1, "end_mask": 2}),
            ([0, 0, 0], [0, 0, 0], [-1, 1, 2], {"begin_mask": 7, "end_mask": 7}), ([2], [1], [1], {}),
            ([-100], [100], [1], {}), ([0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], {}), ([-1], [0], [1], {"shrink_axis_mask": 1}),
            ([0], [1], [-1], {"shrink_axis_mask": 1}), ([0, 0], [1, 0], [1, 1], {"ellipsis_mask": 3}))
    for begin, end, strides, masks in cuts:
        case("StridedSlice", input=block, begin=i32(begin), end=i32(end), strides=i32(strides), **masks)
    case("ConcatV2", values=[block, block], axis=i32(-1))
    case("ConcatV2", values=[ramp(2, 3), np.zeros((0, 3), np.float32)], axis=i32(0))
    case("ConcatV2", values=[ramp(2, 3), ramp(2, 2)], axis=i32(0))
    case("ConcatV2", values=[ramp(2, 3), ramp(2, 2)], axis=i32(2))
    case("ConcatV2", values=[text("a"), text("b", "c")], axis=i32(0))
    case("ConcatV2", values=[text(["a"]), text("b", "c")], axis=i32(0))
    case("Concat", concat_dim=i32(1), values=[ramp(2, 1), ramp(2, 2)])
    case("Pack", values=[ramp(2, 3), ramp(2, 3)], axis=-1)
    case("Pack", values=[f32(1), f32(2)], axis=0)
    case("Pack", values=[ramp(2), ramp(3)], axis=0)
    case("Split", axis=i32(1), value=ramp(2, 4), num_split=2)
    case("Split", axis=i32(1), value=ramp(2, 3), num_split=2)
    case("SplitV", value=ramp(5, 2), size_splits=i32(2, -1), axis=i32(0), num_split=2)
    case("SplitV", value=ramp(5, 2), size_splits=i32(2, 2), axis=i32(0), num_split=2)
    case("Unpack", value=ramp(2, 3), num=3, axis=1)
    case("Unpack", value=ramp(2, 3), num=2, axis=1)
    case("BroadcastTo", input=ramp(3, 1), shape=i32(2, 3, 2))
    case("BroadcastTo", input=ramp(3), shape=i32(2))
    case("Tile", input=ramp(2, 3), multiples=i32(2, 1))
    case("Tile", input=ramp(2, 3), multiples=i32(0, 2))
    case("Tile", input=ramp(2, 3), multiples=i32(-1, 2))
    case("Tile", input=ramp(2, 3), multiples=i32([2]))
    case("Pad", input=ramp(2, 2), paddings=i32([[1, 0], [0, 2]]))
    case("Pad", input=ramp(2, 2), paddings=i32([[-1, 0], [0, 2]]))
    case("Pad", input=ramp(2, 2), paddings=i32([[1, 0]]))
    case("PadV2", input=ramp(2), paddings=i64([[1, 1]]), constant_values=f32(7))


def gathers() -> None:
    for axis in (0, 1, -1, 3):
        case("GatherV2", params=ramp(3, 3, 3), indices=i32([[0, 2], [1, 1]]), axis=i32(axis))
    case("GatherV2", params=ramp(2, 3, 2), indices=i64([[2, 0], [1, 1]]), axis=i32(1), batch_dims=1)
    case("GatherV2", params=ramp(3), indices=i32(0, 3), axis=i32(0))
    case("GatherV2", params=ramp(3), indices=i32(-1), axis=i32(0))
    case("GatherV2", params=text("a", "b"), indices=i32(1), axis=i32(0))
    case("GatherV2", params=np.zeros((0, 2), np.float32), indices=np.zeros((0,), np.int32), axis=i32(0))
    case("Gather", params=ramp(3, 2), indices=i32(2, 0))
    case("OneHot", indices=i32([0, 2, -1, 3]), depth=i32(3), on_value=f32(5), off_value=f32(-1))
    case("OneHot", indices=i64([[0], [1]]), depth=i32(2), on_value=i32(1), off_value=i32(0), axis=0)
    case("OneHot", indices=i32(0), depth=i32(-1), on_value=f32(5), off_value=f32(-1))
    case("TopKV2", input=f32([[1, 3, 3, 0], [5, 4, 4, 4]]), k=i32(3))
    case("TopKV2", input=f32(1, 3, 3, 0), k=i32(5))
    case("TopKV2", input=f32(1, 3, 3, 0), k=i32(0))
    case("TopKV2", input=f32(1.0), k=i32(1))
    case("TopKV2", input=i32(4, -1, 9, 9), k=i32(4))


def strings() -> None:
    words = text("", "Hello World", "ÄÖ straße", "a\tb", " x ")
    for op in ("StringLower", "StringUpper", "StringStrip"):
        case(op, input=words)
    case("StringLength", input=words)
    case("StringLength", input=words, unit="UTF8_CHAR")
    case("StringJoin", inputs=[text("a", "b"), np.array("-", object), text("c", "d")], separator=", ")
    case("StringJoin", inputs=[text("a", "b"), text("c", "d", "e")])
    case("StaticRegexReplace", input=words, pattern="[aeiou]", rewrite="<\\0>")
    case("StaticRegexReplace", input=words, pattern="l", rewrite="L", replace_global=False)
    case("RegexReplace", input=words, pattern=np.array("(\\w)(\\w)", object), rewrite=np.array("\\2\\1", object))
    case("RegexReplace", input=words, pattern=np.array("(", object), rewrite=np.array("", object))
    case("StaticRegexFullMatch", input=words, pattern=".*o.*")
    floats = [0.0, -0.0, 1.5, 1e10, 1.23456789, NAN, INF, -INF, 1e-7]
    for dtype in (np.float32, np.float64):
        case("AsString", input=np.array(floats, dtype))
        case("AsString", input=np.array(floats, dtype), precision=2)
        case("AsString", input=np.array(floats, dtype), scientific=True)
        case("AsString", input=np.array(floats, dtype), shortest=True)
        case("AsString", input=np.array(floats, dtype), shortest=True, precision=3)
    case("AsString", input=i32(INTS))
    case("AsString", input=i64(2**62, -(2**63)))
    case("AsString", input=u8(0, 255))
    case("AsString", input=i8(-128, 127))
    case("AsString", input=flags(True, False))
    numbers = text("1", " 2 ", "-3", "+4", "007")
    for to in (np.float32, np.float64, np.int32, np.int64):
        case("StringToNumber", string_tensor=numbers, out_type=to)
        for bad in ("", "x", "1x", "0x10", "1 2", "99999999999999999999", "+-1", "--1", "1e400", "1.5"):
            case("StringToNumber", string_tensor=text([bad]), out_type=to)
    case("StringToNumber", string_tensor=text("1.5", "-1e3", "inf", "-inf", "nan", ".5", "5.", "1e-50", "INF", "infinity"))


def example(**features) -> bytes:
    """A serialized tf.Example: strings, floats or integers by name; [] is a list without a kind."""
    made = tf.train.Example()
    for name, values in features.items():
        feature = made.features.feature[name]
        if values and isinstance(values[0], str):
            feature.bytes_list.value.extend(v.encode() for v in values)
        elif values and isinstance(values[0], float):
            feature.float_list.value.extend(values)
        elif values:
            feature.int64_list.value.extend(values)
    return made.SerializeToString(deterministic=True)


def dense(serialized, shape, default, key: str = "x") -> None:
    """One dense feature, with both versions of the op."""
    none = np.array([], object)
    case("ParseExample", serialized=serialized, names=none, sparse_keys=[], sparse_types=[], dense_keys=[text(key).reshape(())],
         dense_defaults=[default], dense_shapes=[shape])
    case("ParseExampleV2", serialized=serialized, names=none, sparse_keys=none, dense_keys=text([key]), ragged_keys=none,
         dense_defaults=[default], num_sparse=0, sparse_types=[], ragged_value_types=[], ragged_split_types=[],
         dense_shapes=[shape])


def listed(serialized, kinds: dict, splits=None) -> None:
    """Sparse features, or with `splits` ragged ones."""
    none = np.array([], object)
    keys = np.array(list(kinds), object)
    types = list(kinds.values())
    ragged = splits is not None
    case("ParseExampleV2", serialized=serialized, names=none, sparse_keys=none if ragged else keys, dense_keys=none,
         ragged_keys=keys if ragged else none, dense_defaults=[], num_sparse=0 if ragged else len(types),
         sparse_types=[] if ragged else types, ragged_value_types=types if ragged else [],
         ragged_split_types=[splits] * len(types) if ragged else [], dense_shapes=[])
    if not ragged:
        case("ParseExample", serialized=serialized, names=none, sparse_keys=[np.array(k, object) for k in kinds],
             sparse_types=types, dense_keys=[], dense_defaults=[], dense_shapes=[])


def examples() -> None:
    nothing = np.array([], np.float32)
    two = np.array([example(x=[1.5, -2.0]), example(x=[3.0, 4.0], y=["a"])], object)
    uneven = np.array([example(x=[1.0]), example(), example(x=[2.0, 3.0, 4.0])], object)
    words = np.array([example(x=["a", "bc"], n=[7]), example(n=[]), example(x=["d"], n=[1, 2, -3])], object)
    dense(two, [2], nothing)
    dense(two, [2, 1], nothing)
    dense(two, [3], nothing)
    dense(two, [], nothing)
    dense(two, [2], np.array([0], np.int64))
    dense(two, [2], f32(8, 9), key="z")
    dense(two, [2], nothing, key="z")
    dense(two, [2], f32(8), key="z")
    dense(two[0:0], [2], nothing)
    dense(np.array(two[0], object), [2], nothing)
    dense(np.array([b"no example"], object), [2], nothing)
    dense(np.array([b""], object), [2], f32(8, 9))
    dense(uneven, [None], f32([-7]))
    dense(uneven, [None], np.array(-7, np.float32))
    dense(uneven, [None, 1], f32([[5]]))
    dense(uneven, [None, 2], f32([5]))
    dense(uneven, [None], f32([1, 2]))
    dense(uneven, [None], nothing)
    dense(uneven, [None, 2], f32([1, 2]))
    dense(words, [None], text(["-"]))
    dense(words, [1], text(["-"]))
    dense(words, [3], i64(1, 2, 3), key="n")
    dense(words[2:], [3], i64(1, 2, 3), key="n")
    dense(np.array(words[0], object), [None], text(["-"]))
    kinds = {"x": tf.string, "n": tf.int64}
    listed(words, kinds)
    listed(words[0:0], kinds)
    listed(words, {"x": tf.float32})
    listed(uneven, {"x": tf.float32, "absent": tf.string})
    listed(np.array(words[0], object), kinds)
    listed(words, kinds, splits=tf.int32)
    listed(uneven, {"x": tf.float32, "absent": tf.string}, splits=tf.int64)
    listed(words[0:0], kinds, splits=tf.int64)
    listed(np.array(words[0], object), kinds, splits=tf.int64)


def batches() -> None:
    """Batches of several rows, because the CPU engine can compute rows separately, and other cases of these ops cannot be separated."""
    window = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "padding": "SAME"}
    case("MaxPool", input=ramp(3, 5, 4, 2), **window)
    case("AvgPool", value=ramp(3, 5, 4, 2), **window)
    case("DepthwiseConv2dNative", input=ramp(3, 5, 4, 2), filter=ramp(3, 3, 2, 2), strides=[1, 1, 1, 1], padding="SAME")
    case("Squeeze", input=ramp(3, 1, 2, 1), axis=[1])
    case("Reshape", tensor=ramp(3, 4), shape=i32(-1, 2, 2))
    every_row = {"strides": i32(1, 1), "begin_mask": 1, "end_mask": 1}
    case("StridedSlice", input=ramp(3, 4), begin=i32(1, 1), end=i32(2, 3), **every_row)
    case("StridedSlice", input=ramp(3, 4), begin=i32(1, 2), end=i32(2, 3), shrink_axis_mask=2, **every_row)
    case("Softmax", logits=ramp(4))
    case("LogSoftmax", logits=ramp(4))
    case("Pad", input=ramp(3, 2), paddings=i32([[0, 0], [1, 2]]))
    case("PadV2", input=ramp(3, 2), paddings=i32([[0, 0], [1, 2]]), constant_values=f32(7.0))


for family in (unary, binary, logic, reduce, casts, windows, products, softmax, shapes, moves, gathers, strings, examples, batches):
    family()
