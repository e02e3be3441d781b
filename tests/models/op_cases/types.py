"""Half and bfloat16, which are computed in float and rounded; and rarely used integer types."""

import ml_dtypes
import numpy as np

from op_cases.case import INF, NAN, case, f32, i32

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 11.0, -8.0, 1e-3, 6e-5, INF, -INF, NAN, 7.25]
SHORT = (np.float16, ml_dtypes.bfloat16)


def small(*shape, dtype, scale: float = 0.25) -> np.ndarray:
    """Small multiples of `scale`: their sums of products are exact in every type."""
    return ((np.arange(int(np.prod(shape))) * 7 % 5 - 2) * scale).astype(dtype).reshape(shape)


def unary(dtype) -> None:
    values = np.array(EDGES, np.float32).astype(dtype)
    for op in ("Abs", "Neg", "Square", "Sign", "Round", "Sqrt", "Exp", "Log", "Log1p", "Sin", "Cos", "Tanh", "Floor",
               "Ceil", "Rint",
               "Reciprocal", "Erf", "IsNan", "IsInf", "IsFinite"):
        case(op, x=values)
    # Sigmoid, Softplus, Elu, Selu, Softmax and Rsqrt are left out: TensorFlow also rounds intermediate results, the
    # engine only the final one, so they differ in the last bit.
    for op in ("Relu", "Relu6", "LeakyRelu", "Softsign"):
        case(op, features=values)
    for op in ("Expm1", "Tan", "Atan", "Erfc", "Inv"):
        case(op, x=values)
    case("LogSoftmax", logits=small(3, 5, dtype=dtype, scale=1.0))
    norm = {"scale": f32(1, 2), "offset": f32(0.5, -1), "mean": f32(0.25, 0), "variance": f32(1, 0.5),
            "is_training": False}
    case("FusedBatchNormV3", 1, x=small(2, 2, 3, 2, dtype=dtype), epsilon=0.001, **norm)


def binary(dtype) -> None:
    left, right = np.array(EDGES, np.float32).astype(dtype), np.array(EDGES[::-1], np.float32).astype(dtype)
    for op in ("AddV2", "Add", "Sub", "Mul", "Div", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "FloorDiv",
               "DivNoNan", "Equal",
               "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"):
        case(op, x=left, y=right)
        case(op, x=left.reshape(19, 1)[:3], y=right[:4])
    case("AddN", inputs=[left, right, left])


def products(dtype) -> None:
    case("MatMul", a=small(4, 5, dtype=dtype), b=small(5, 3, dtype=dtype))
    case("BatchMatMulV2", x=small(2, 4, 5, dtype=dtype), y=small(5, 3, dtype=dtype))
    case("BatchMatMulV3", x=small(2, 4, 5, dtype=dtype), y=small(5, 3, dtype=dtype), Tout=dtype)
    case("Einsum", inputs=[small(4, 5, dtype=dtype), small(5, 3, dtype=dtype)], equation="ab,bc->ac")
    case("Conv2D", input=small(1, 5, 5, 2, dtype=dtype), filter=small(3, 3, 2, 3, dtype=dtype), strides=[1, 1, 1, 1],
         padding="SAME")
    case("Conv2DBackpropInput", input_sizes=i32(1, 5, 5, 2), filter=small(3, 3, 2, 3, dtype=dtype),
         out_backprop=small(1, 5, 5, 3, dtype=dtype),
         strides=[1, 1, 1, 1], padding="SAME")
    case("DepthwiseConv2dNative", input=small(1, 5, 5, 2, dtype=dtype), filter=small(3, 3, 2, 1, dtype=dtype),
         strides=[1, 1, 1, 1], padding="SAME")
    case("Conv3D", input=small(1, 3, 3, 3, 2, dtype=dtype), filter=small(2, 2, 2, 2, 3, dtype=dtype),
         strides=[1, 1, 1, 1, 1], padding="SAME")
    case("BiasAdd", value=small(2, 3, dtype=dtype), bias=small(3, dtype=dtype))
    for op in ("MaxPool", "AvgPool"):
        name = "input" if op == "MaxPool" else "value"
        case(op, **{name: small(1, 4, 4, 2, dtype=dtype)}, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    for op in ("Sum", "Max", "Min", "Prod", "Mean"):
        case(op, input=small(2, 4, dtype=dtype), axis=i32(1))
    for op in ("ArgMax", "ArgMin"):
        case(op, input=small(2, 4, dtype=dtype), dimension=i32(1))
    case("Cumsum", x=small(2, 4, dtype=dtype), axis=i32(1))


def moves(dtype) -> None:
    case("Transpose", x=small(2, 3, dtype=dtype), perm=i32(1, 0))
    case("SelectV2", condition=np.array([True, False]), t=small(2, dtype=dtype), e=-small(2, dtype=dtype))
    case("GatherV2", params=small(4, dtype=dtype), indices=i32(3, 0), axis=i32(0))
    case("ZerosLike", x=small(2, dtype=dtype))
    for to in (np.float32, np.int32, np.bool_, *SHORT):
        case("Cast", x=np.array([0, 1.5, -2.25, 100], np.float32).astype(dtype), DstT=to)
    case("Cast", x=f32(0.1, 1.5, 65504, 1e-8, INF, NAN, 3.14159, -70000), DstT=dtype)
    case("ResizeNearestNeighbor", images=small(1, 2, 2, 1, dtype=dtype), size=i32(3, 3))


def integers(dtype) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    left, right = np.array([low, high, 0, 1, 7, 100, high], dtype), np.array([1, 1, 5, 3, 2, 7, high], dtype)
    for op in ("AddV2", "Sub", "Mul", "FloorDiv", "FloorMod", "Maximum", "Minimum", "Equal", "Less", "GreaterEqual",
               "BitwiseAnd", "BitwiseXor", "TruncateDiv"):
        case(op, x=left, y=right)
    for op in ("Sum", "Max", "Min", "Prod"):
        case(op, input=left.reshape(1, 7), axis=i32(1))
    case("ArgMax", input=left, dimension=i32(0))
    case("Cumsum", x=left, axis=i32(0))
    case("TopKV2", input=left, k=i32(3))
    case("OnesLike", x=left)
    case("Range", start=np.array(1, dtype), limit=np.array(9, dtype), delta=np.array(3, dtype))
    for to in (np.float32, np.int32, np.uint8, np.int16, np.uint64):
        case("Cast", x=left, DstT=to)
    case("MatMul", a=left[:4].reshape(2, 2), b=right[:4].reshape(2, 2))


for each in SHORT:
    for family in (unary, binary, products, moves):
        family(each)
for each in (np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.uint64):
    integers(each)
