"""Cumulative sums, scatters, diagonals, special functions, matrices, and einsum in general."""

import numpy as np

from op_cases.case import EDGES, INF, INTS, NAN, case, f32, f64, flags, i8, i32, i64, ramp, text, u8


def cumulative() -> None:
    for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        for exclusive in (False, True):
            for reverse in (False, True):
                for axis in (0, 1, -1):
                    case(op, x=ramp(2, 3, 4), axis=i32(axis), exclusive=exclusive, reverse=reverse)
        case(op, x=f64(1, 2, 3, -4), axis=i64(0))
        case(op, x=f32(1, NAN, 3, INF), axis=i32(0))
        case(op, x=f32(-INF, -INF, 3), axis=i32(0))
        case(op, x=ramp(0, 3), axis=i32(0))
        case(op, x=ramp(2, 3), axis=i32(2))
        case(op, x=f32(1.0), axis=i32(0))
        case(op, x=ramp(2, 3), axis=i32([0]))
    for op in ("Cumsum", "Cumprod"):
        case(op, x=i32(INTS), axis=i32(0))
        case(op, x=i64(2**62, 2**62, 2**62), axis=i32(0))
        case(op, x=u8(200, 100, 3), axis=i32(0))


def scatters() -> None:
    block = ramp(3, 4, 2)
    for indices in ([[0, 1], [2, 3]], [[0], [2]], [[[0, 0, 1]], [[2, 3, 0]]], [[0, 4]], [[-1]], [[0, 0, 0, 0]], [1, 2]):
        case("GatherNd", params=block, indices=i32(indices))
    case("GatherNd", params=block, indices=np.zeros((2, 0), np.int64))
    case("GatherNd", params=block, indices=np.zeros((0, 2), np.int32))
    case("GatherNd", params=ramp(0, 2), indices=i32([[0]]))
    case("GatherNd", params=text("a", "b"), indices=i64([[1], [0], [1]]))
    case("GatherNd", params=f32(1.0), indices=i32([0]))
    case("ScatterNd", indices=i32([[0], [2], [0]]), updates=f32(1, 2, 3), shape=i32([4]))
    case("ScatterNd", indices=i32([[0], [2]]), updates=ramp(2, 3), shape=i32(4, 3))
    case("ScatterNd", indices=i64([[0, 1], [2, 2]]), updates=i64(5, -6), shape=i64(3, 3))
    case("ScatterNd", indices=i32([[0], [0]]), updates=i32(2**31 - 1, 1), shape=i32([1]))
    case("ScatterNd", indices=i32([[0], [4]]), updates=f32(1, 2), shape=i32([4]))
    case("ScatterNd", indices=i32([[0], [-1]]), updates=f32(1, 2), shape=i32([4]))
    case("ScatterNd", indices=i32([[0], [1]]), updates=f32(1, 2, 3), shape=i32([4]))
    case("ScatterNd", indices=i32([[0, 1]]), updates=f32([1]), shape=i32([4]))
    case("ScatterNd", indices=np.zeros((0, 1), np.int32), updates=f32([]), shape=i32([3]))
    case("ScatterNd", indices=i32([[0]]), updates=f32([1]), shape=i32([0]))
    case("ScatterNd", indices=i32([[0]]), updates=f32([1]), shape=i32([-3]))
    for op in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"):
        case(op, tensor=ramp(5), indices=i32([[1], [3], [1]]), updates=f32(9, -9, 2))
        case(op, tensor=ramp(3, 2), indices=i64([[2], [0]]), updates=ramp(2, 2, scale=3))
        case(op, tensor=i32(1, 2**31 - 1, -(2**31)), indices=i32([[1], [2]]), updates=i32(5, 5))
        case(op, tensor=ramp(2, 3), indices=i32([[0, 1], [1, 2]]), updates=f32(NAN, INF))
        case(op, tensor=f32(NAN, 1), indices=i32([[0], [1]]), updates=f32(1, NAN))
        case(op, tensor=ramp(5), indices=i32([[5]]), updates=f32([9]))
        case(op, tensor=ramp(5), indices=i32([[1]]), updates=f32(9, 8))
        case(op, tensor=ramp(5), indices=np.zeros((0, 1), np.int32), updates=f32([]))
        case(op, tensor=f32(1.0), indices=i32([[0]]), updates=f32([1]))
    case("TensorScatterUpdate", tensor=text("a", "b"), indices=i32([[1]]), updates=text(["c"]))
    case("TensorScatterUpdate", tensor=flags(True, False), indices=i32([[1]]), updates=flags([True]))


def diagonals() -> None:
    for shape in ((3,), (2, 3), (2, 1), (0,), (2, 0), ()):
        case("MatrixDiag", diagonal=ramp(*shape))
        case("Diag", diagonal=ramp(*shape))
    for shape in ((3, 3), (2, 3), (2, 4, 3), (0, 3), (3,)):
        case("MatrixDiagPart", input=ramp(*shape))
        for k in (0, 1, -1, [-1, 1], [0, 1], [-2, -1], 3, -3, [1, 0]):
            case("MatrixDiagPartV2", input=ramp(*shape), k=i32(k), padding_value=f32(7))
            for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
                case("MatrixDiagPartV3", input=ramp(*shape), k=i32(k), padding_value=f32(7), align=align)
    for k, rows, columns, diagonal in ((0, -1, -1, (2, 3)), (1, -1, -1, (3,)), (-1, 4, 5, (3,)), (-1, 4, 3, (2, 3)),
                                       (0, 5, 3, (3,)), (0, 5, 4, (3,)),
                                       ([-1, 1], 3, 3, (2, 3, 3)), ([0, 2], 3, -1, (3, 3)), ([-1, 0], -1, 3, (2, 3)),
                                       (0, 2, 3, (3,)), ([1, 0], 3, 3, (2, 3)),
                                       ([0, 1], 3, 3, (3, 3)), (1, -1, 2, (3,)), ([1, 2], -1, -1, (2, 3)),
                                       ([0, 1], 3, 3, (3,))):
        sizes = {"k": i32(k), "num_rows": i32(rows), "num_cols": i32(columns), "padding_value": f32(9)}
        case("MatrixDiagV2", diagonal=ramp(*diagonal), **sizes)
        for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
            case("MatrixDiagV3", diagonal=ramp(*diagonal), align=align, **sizes)
    case("MatrixSetDiag", input=ramp(2, 3, 4), diagonal=ramp(2, 3, scale=5))
    case("MatrixSetDiag", input=ramp(2, 3, 4), diagonal=ramp(2, 4, scale=5))
    case("MatrixSetDiag", input=ramp(3), diagonal=ramp(3))
    for k, diagonal in ((0, (2, 3)), (1, (2, 3)), (-1, (2, 2)), ([-1, 1], (2, 3, 3)), ([-2, -1], (2, 2, 2)),
                        ([1, 3], (2, 3, 3)), (4, (2, 1)), ([0, 1], (2, 3))):
        case("MatrixSetDiagV2", input=ramp(2, 3, 4), diagonal=ramp(*diagonal, scale=5), k=i32(k))
        for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
            case("MatrixSetDiagV3", input=ramp(2, 3, 4), diagonal=ramp(*diagonal, scale=5), k=i32(k), align=align)
    for lower, upper in ((0, 0), (-1, 0), (0, -1), (1, 1), (2, 0), (-1, -1), (3, 4), (4, 0), (0, 5)):
        case("MatrixBandPart", input=ramp(2, 3, 4), num_lower=i32(lower), num_upper=i32(upper))
    case("MatrixBandPart", input=flags([[True, True], [True, True]]), num_lower=i64(0), num_upper=i64(0))
    case("MatrixBandPart", input=ramp(3), num_lower=i64(0), num_upper=i64(0))
    for shape in ((3, 3), (2, 3, 2, 3), (2, 3), (3,), (0, 0), (2, 2, 2)):
        case("DiagPart", input=ramp(*shape))
    case("Diag", diagonal=i32(1, 2))


def functions() -> None:
    unit = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.999, -0.999, 1e-6, 1e-30, 1.5, -2.0, INF, NAN, 0.25]
    wide = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 10.25, -10.25, 1e-6, 80.0, 1e6, INF, -INF, NAN, 171.5]
    for op in ("Asin", "Acos", "Atanh", "Erfinv"):
        # TensorFlow computes erfinv from 1 + x, which loses small numbers.
        case(op, x=f32([v for v in unit if op != "Erfinv" or abs(v) > 1e-3 or v != v]))
        case(op, x=f64(unit))
    for op in ("Sinh", "Cosh", "Asinh", "Acosh"):
        case(op, x=f32(wide))
        case(op, x=f64(wide))
    # Not -inf: TensorFlow's digamma does not terminate there.
    for op in ("Lgamma", "Digamma"):
        case(op, x=f32([v for v in wide if v != -INF]))
        case(op, x=f64([v for v in wide if v != -INF]))
    case("Ndtri", x=f32(0.0, 1.0, 0.5, 0.25, 0.975, 1e-6, 0.999999, 1e-30, -0.1, 1.1, NAN))
    case("Ndtri", x=f64(0.0, 1.0, 0.5, 0.25, 0.975, 1e-6, 0.999999, 1e-300, -0.1, 1.1, NAN))
    for op in ("Xdivy", "Xlogy", "Xlog1py"):
        case(op, x=f32(0, 0, 0, 0, 1, 2, -1, NAN), y=f32(0, -1, INF, NAN, 0, 3, 0.5, 1))
        case(op, x=f64(0, 0, 0, 0, 1, 2, -1, NAN), y=f64(0, -1, INF, NAN, 0, 3, 0.5, 1))
        case(op, x=ramp(2, 1), y=ramp(3, scale=0.01))
        case(op, x=ramp(2), y=ramp(3))
    a = [0.5, 1, 1, 2, 10, 10, 10, 100, 100, 0, -1, 1, NAN, 3, 3]
    x = [0.3, 1, 30, 0.01, 3, 10, 30, 90, 120, 1, 1, -1, 1, 0, INF]
    for op in ("Igamma", "Igammac"):
        case(op, a=f32(a), x=f32(x))
        case(op, a=f64(a), x=f64(x))
    case("Betainc", a=f32(0.5, 1, 2, 10, 2, 0.1, 30), b=f32(0.5, 3, 2, 3, 5, 0.1, 20),
         x=f32(0.3, 0.5, 0, 0.9, 1, 0.01, 0.6))
    case("Betainc", a=f64(0.5, 1, 2, -1, 2, 0), b=f64(0.5, 3, 2, 3, 5, 1), x=f64(0.3, 0.5, 1.1, 0.9, -0.1, 0.5))
    case("Betainc", a=f32(2), b=f32(3), x=f32(0.1, 0.5, 0.9))
    case("Betainc", a=f32(2, 3), b=f32(3), x=f32(0.1, 0.5, 0.9))
    case("Zeta", x=f32(2, 3, 1.5, 1, 0.5, 10, 2), q=f32(1, 2.5, 0.1, 1, 1, 0.5, 0))
    case("Polygamma", a=f32(0, 1, 2, 3, 1.5, 0, 5), x=f32(1.5, 0.5, 2.5, 10, 1, -0.5, 2))
    case("Polygamma", a=f64(0, 1, 2, 3), x=f64(1.5, 0.5, 2.5, 10))
    case("NextAfter", x1=f32(0, 1, -1, INF, NAN, 1), x2=f32(1, 2, -2, 0, 1, 1))
    case("NextAfter", x1=f64(0, 1, -1), x2=f64(1, 0, -2))
    for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
        values = np.array([0, 1, 5, 127, 64, 100], dtype)
        case("Invert", x=values)
        case("PopulationCount", x=values)
        case("LeftShift", x=values, y=np.array([0, 1, 3, 7, 2, 60], dtype))
        case("RightShift", x=values, y=np.array([0, 1, 3, 7, 2, 60], dtype))
    case("RightShift", x=i32(-1, -100, -(2**31)), y=i32(1, 40, -1))
    case("LeftShift", x=i32(-1, -100, 2**30), y=i32(1, 40, -1))
    case("PopulationCount", x=i8(-1, -128, 127))
    case("Invert", x=i64(-(2**63), 5))
    case("ApproximateEqual", x=f32(1, 1, NAN, INF, 0), y=f32(1.000001, 1.1, NAN, INF, 1e-5))
    case("ApproximateEqual", x=f64(1, 1), y=f64(1.0001, 1.1), tolerance=0.01)
    case("ApproximateEqual", x=i32(1, 5), y=i32(1, 3), tolerance=2.5)
    case("ApproximateEqual", x=ramp(2), y=ramp(3))
    case("ClipByValue", t=f32(EDGES), clip_value_min=f32(-1), clip_value_max=f32(2))
    case("ClipByValue", t=ramp(2, 3), clip_value_min=ramp(2, 3, scale=0.1), clip_value_max=f32(1))
    case("ClipByValue", t=i32(INTS), clip_value_min=i32(-5), clip_value_max=i32(5))
    case("ClipByValue", t=f32(1, 2, 3), clip_value_min=f32(5), clip_value_max=f32(0))
    case("ClipByValue", t=ramp(2, 3), clip_value_min=ramp(3), clip_value_max=f32(1))


def vectors() -> None:
    for values in (ramp(2, 3), f64(1, 2, 3), f32([]), f32(5), f32(NAN, 1)):
        case("L2Loss", t=values)
    case("EuclideanNorm", input=ramp(2, 3, 4), axis=i32([0, -1]))
    case("EuclideanNorm", input=f32([[3, 4], [NAN, 1], [INF, 1], [0, 0]]), axis=i32(1), keep_dims=True)
    case("EuclideanNorm", input=ramp(0, 3), axis=i32(0))
    case("Cross", a=ramp(2, 3), b=ramp(2, 3, scale=0.5))
    case("Cross", a=i32(2**30, 5, -3), b=i32(4, 7, 2**31 - 1))
    case("Cross", a=ramp(2, 2), b=ramp(2, 2))
    for start, stop, count in ((0, 1, 5), (1, -1, 3), (2, 7, 1), (0, 1, 0), (0, 1, -1), (0.1, 0.7, 11), (5, 5, 4)):
        case("LinSpace", start=f32(start), stop=f32(stop), num=i32(count))
        case("LinSpace", start=f64(start), stop=f64(stop), num=i64(count))
    for places in ([3, 0, 2, 1], [], [0], [0, 0], [1, 2], [-1, 0]):
        case("InvertPermutation", x=i32(places))
    case("InvertPermutation", x=i64(1, 0))
    case("InvertPermutation", x=i32([[0]]))
    for values in (ramp(2), f32(1, NAN), f32(INF), f64(-INF, NAN)):
        case("CheckNumerics", tensor=values, message="here")
        case("CheckNumericsV2", tensor=values, message="here")
    for shape in ([2, 3], [None, 3], [2, 2], [6], None):
        case("EnsureShape", input=ramp(2, 3), shape=shape)
    case("ParallelConcat", values=[ramp(1, 3), ramp(1, 3)], shape=[2, 3])
    for x, y in (((2, 2, 3), (3, 2)), ((4, 1, 2, 3), (5, 3, 2))):
        case("BatchMatMulV3", x=ramp(*x), y=ramp(*y), Tout=np.float32)
    case("BatchMatMulV3", x=ramp(3, 2), y=ramp(3, 4), Tout=np.float32, adj_x=True)


def matrices() -> None:
    square = f32([[4, 1, 0.5], [1, 3, -1], [0.5, -1, 5]])
    stack = np.stack([square, square * 2 + np.eye(3, dtype=np.float32)])
    for values in (square, stack, f64(stack), f32([[0, 1], [2, 0]]), np.zeros((0, 0), np.float32),
                   np.zeros((0, 2, 2), np.float32), ramp(2, 3), f32([[1, 2], [2, 4]])):
        case("MatrixInverse", input=values)
        case("MatrixInverse", input=values, adjoint=True)
        case("MatrixDeterminant", input=values)
    # Only matrices that have a decomposition: for others TensorFlow's result is partly uninitialised memory.
    for values in (square, stack, f64(stack), np.zeros((0, 0), np.float32), np.zeros((0, 2, 2), np.float32),
                   ramp(2, 3)):
        case("Cholesky", input=values)
    for adjoint in (True, False):
        case("MatrixSolve", matrix=stack, rhs=ramp(2, 3, 2), adjoint=adjoint)
        case("MatrixSolve", matrix=f32([[1, 2], [3, 5]]), rhs=ramp(2, 1), adjoint=adjoint)
        for lower in (True, False):
            case("MatrixTriangularSolve", matrix=stack, rhs=ramp(2, 3, 2), lower=lower, adjoint=adjoint)
            case("MatrixTriangularSolve", matrix=square, rhs=ramp(2, 3, 1), lower=lower, adjoint=adjoint)
    case("MatrixSolve", matrix=f32([[1, 2], [2, 4]]), rhs=ramp(2, 1))
    case("MatrixSolve", matrix=square, rhs=ramp(2, 1))
    case("MatrixTriangularSolve", matrix=f32([[1, 2], [2, 0]]), rhs=ramp(2, 1))
    case("MatrixTriangularSolve", matrix=square, rhs=ramp(2, 1))


def sums() -> None:
    for equation, shapes in (("...ab,...bc->...ac", [(2, 3, 4), (4, 5)]), ("...ab,bc->...ac", [(2, 1, 3, 4), (4, 5)]),
                             ("a...->...", [(3, 2, 2)]),
                             ("a...->...a", [(3, 2, 4)]), ("...a,...a->...", [(2, 1, 3), (4, 3)]),
                             ("...,...->...", [(2, 1), (3,)]), ("...->...", [()]),
                             ("ii->", [(3, 3)]), ("ii->i", [(3, 3)]), ("iij->j", [(2, 2, 3)]), ("i->ii", [(3,)]),
                             ("ij->iji", [(2, 3)]), ("iij,ji->i", [(2, 2, 3), (3, 2)]),
                             ("abc->", [(2, 3, 4)]), ("abc->cb", [(2, 3, 4)]), ("ab,cd->", [(2, 3), (3, 2)]),
                             ("ab,ab->b", [(2, 3), (2, 3)]),
                             ("aab,bcc->ac", [(2, 2, 3), (3, 2, 2)]), ("BTNH,BFNH->BNFT", [(1, 2, 3, 4), (1, 5, 3, 4)]),
                             (",a->a", [(), (3,)]), ("ab,b->a", [(0, 3), (3,)]),
                             ("ab,b->a", [(2, 0), (0,)]), ("ii->i", [(2, 3)]), ("...a->a", [(2, 3)]),
                             ("ab->ac", [(2, 3)]), ("...ab->...ba", [(2,)]),
                             ("ab...,ab...->...", [(2, 3, 2, 1), (2, 3, 4)])):
        case("Einsum", inputs=[ramp(*shape) if shape else f32(2.5) for shape in shapes], equation=equation)
    case("Einsum", inputs=[ramp(2, 3, dtype=np.float64), ramp(3, 2, dtype=np.float64)], equation="ab,bc->ac")


for family in (cumulative, scatters, diagonals, functions, vectors, matrices, sums):
    family()
