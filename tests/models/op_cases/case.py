"""The words that the cases are written with."""

import numpy as np

NAN, INF = float("nan"), float("inf")
CASES = []


def case(op: str, outputs: int | None = None, **arguments) -> None:
    """`outputs`: how many of the op's outputs count; None for all. Arrays are inputs, the rest attributes, but `runs`:
    how often the op runs in one session, where that makes a difference."""
    CASES.append((op, arguments, outputs))


def graph(op: str, build) -> None:
    """A graph of several ops: build(feed) gives the outputs, and feed(array) a placeholder of that value."""
    CASES.append((op, build, None))


def _arrays_of(dtype):
    """f(1, 2) and f([1, 2]) are the same array; f(1) is a scalar."""
    return lambda *values: np.array(values[0] if len(values) == 1 else values, dtype)


f32, f64 = _arrays_of(np.float32), _arrays_of(np.float64)
i8, i32, i64, u8 = _arrays_of(np.int8), _arrays_of(np.int32), _arrays_of(np.int64), _arrays_of(np.uint8)
text, flags = _arrays_of(object), _arrays_of(bool)


def ramp(*shape, scale: float = 0.25, dtype=np.float32) -> np.ndarray:
    """Numbers of both signs that do not repeat soon."""
    count = int(np.prod(shape))
    return ((np.arange(count) * 7 % 23 - 11) * scale).astype(dtype).reshape(shape)


# More than a vector register holds, so that the loops over registers and over what is left are both met.
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 88.0, -88.0, 1e-6, 1e6, INF, -INF, NAN, 7.25]
INTS = [0, 1, -1, 2, -7, 7, 2**31 - 1, -(2**31), 100, -128, 127]
