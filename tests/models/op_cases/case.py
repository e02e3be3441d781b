"""Functions and values to write the cases with."""

import numpy as np

NAN, INF = float("nan"), float("inf")
CASES = []


def case(op: str, outputs: int | None = None, **arguments) -> None:
    """Adds a case. `outputs`: how many outputs to compare; None: all. Arrays are inputs and other arguments are attributes,
    except `runs`: how often the op runs in one session, for stateful ops."""
    CASES.append((op, arguments, outputs))


def graph(op: str, build) -> None:
    """Adds a case with several ops. build(feed) returns the outputs; feed(array) returns a placeholder that is fed the array."""
    CASES.append((op, build, None))


def _arrays_of(dtype):
    """f(1, 2) and f([1, 2]) are the same array; f(1) is a scalar."""
    return lambda *values: np.array(values[0] if len(values) == 1 else values, dtype)


f32, f64 = _arrays_of(np.float32), _arrays_of(np.float64)
i8, i32, i64, u8 = _arrays_of(np.int8), _arrays_of(np.int32), _arrays_of(np.int64), _arrays_of(np.uint8)
text, flags = _arrays_of(object), _arrays_of(bool)


def ramp(*shape, scale: float = 0.25, dtype=np.float32) -> np.ndarray:
    """Positive and negative numbers with a period of 23."""
    count = int(np.prod(shape))
    return ((np.arange(count) * 7 % 23 - 11) * scale).astype(dtype).reshape(shape)


# More values than a vector register holds, so that kernels run both their vectorised loop and their scalar remainder.
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 88.0, -88.0, 1e-6, 1e6, INF, -INF, NAN, 7.25]
INTS = [0, 1, -1, 2, -7, 7, 2**31 - 1, -(2**31), 100, -128, 127]
