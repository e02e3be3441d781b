"""Quantised and fake-quantised values."""

import numpy as np
import tensorflow as tf

from op_cases.case import INF, NAN, case, f32, f64, i32, ramp

# No values halfway between two steps: there TensorFlow's own kernels differ, because they round intermediate results
# differently.
VALUES = [-10.0, -6.0, -3.3, -1.0, -0.26, -0.01, 0.0, 0.003, 0.1, 0.51, 0.77, 1.0, 2.2, 5.99, 6.0, 100.0]


def fakes() -> None:
    for bits in (2, 4, 8, 16):
        for narrow in (True, False):
            for low, high in ((-6.0, 6.0), (0.1, 1.0), (-1.0, -0.2), (-0.1, 0.9), (-10.0, 3.0)):
                given = {"inputs": f32(VALUES), "num_bits": bits, "narrow_range": narrow}
                case("FakeQuantWithMinMaxArgs", min=low, max=high, **given)
                case("FakeQuantWithMinMaxVars", min=f32(low), max=f32(high), **given)
            case("FakeQuantWithMinMaxVarsPerChannel", inputs=ramp(2, 5, 3, scale=0.261), min=f32(-1, 0.1, -0.5),
                 max=f32(1, 2, 0.3), num_bits=bits, narrow_range=narrow)
    case("FakeQuantWithMinMaxArgs", inputs=f32(INF, -INF, 1e30))
    case("FakeQuantWithMinMaxVars", inputs=f32(VALUES), min=f32(0), max=f32(0))
    case("FakeQuantWithMinMaxVars", inputs=f32(VALUES), min=f32([0]), max=f32(1))
    case("FakeQuantWithMinMaxVars", inputs=ramp(0, 2), min=f32(0), max=f32(1))
    case("FakeQuantWithMinMaxVarsPerChannel", inputs=ramp(2, 3), min=f32(-1, 0), max=f32(1, 2))
    case("FakeQuantWithMinMaxVarsPerChannel", inputs=ramp(3), min=f32(-1, 0, 0), max=f32(1, 2, 0))


def rounded() -> None:
    for bits in (2, 4, 8, 16):
        for signed in (True, False):
            for narrow in (True, False):
                for mode in ("HALF_TO_EVEN", "HALF_UP"):
                    given = {"signed_input": signed, "narrow_range": narrow}
                    for low, high in ((-6.0, 6.0), (-1.0, 0.5), (0.0, 2.0)):
                        case("QuantizeAndDequantizeV2", input=f32(VALUES), input_min=f32(low), input_max=f32(high),
                             num_bits=bits, range_given=True, round_mode=mode, **given)
                    case("QuantizeAndDequantizeV2", input=f32(VALUES), input_min=f32(0), input_max=f32(0),
                         num_bits=bits, round_mode=mode, **given)
                case("QuantizeAndDequantizeV3", input=f32(VALUES), input_min=f32(-1), input_max=f32(2),
                     num_bits=i32(bits), **given)
                case("QuantizeAndDequantizeV2", input=ramp(2, 3, 4), input_min=f32(-1, -2, -3),
                     input_max=f32(1, 2, 0.5), num_bits=bits, axis=1, range_given=True, **given)
                case("QuantizeAndDequantizeV4", input=ramp(2, 3, 4), input_min=f32(-1), input_max=f32(0.5),
                     num_bits=bits, range_given=True, **given)
                case("QuantizeAndDequantizeV4", input=ramp(2, 3, 4), input_min=f32(0, 0, 0), input_max=f32(0, 0, 0),
                     num_bits=bits, axis=1, range_given=False, **given)
    one = {"input_min": f32(1), "input_max": f32(-1)}
    case("QuantizeAndDequantizeV2", input=f32(VALUES), range_given=True, **one)
    case("QuantizeAndDequantizeV2", input=f64(VALUES), input_min=f64(-1), input_max=f64(3), range_given=True)
    case("QuantizeAndDequantizeV2", input=f32(0, 0), **one)
    case("QuantizeAndDequantizeV2", input=ramp(2, 3), input_min=f32(0, 0), input_max=f32(1, 1), axis=1,
         range_given=True)
    case("QuantizeAndDequantizeV2", input=ramp(2, 3), input_min=f32(0, 0), input_max=f32(1, 1), axis=2,
         range_given=True)
    for bits in (0, 1, 63):
        case("QuantizeAndDequantizeV3", input=f32(VALUES), input_min=f32(-1), input_max=f32(2), num_bits=i32(bits))


QUANTIZED = {tf.qint8: np.int8, tf.quint8: np.uint8, tf.qint16: np.int16, tf.quint16: np.uint16, tf.qint32: np.int32}
MODES = (("MIN_COMBINED", "HALF_AWAY_FROM_ZERO"), ("MIN_FIRST", "HALF_AWAY_FROM_ZERO"), ("SCALED", "HALF_AWAY_FROM_ZERO"),
         ("SCALED", "HALF_TO_EVEN"))
RANGES = ((-6.0, 6.0), (-1.0, 2.0), (0.1, 1.0), (-1.0, -0.2), (0.0, 0.0), (5.0, 5.0), (-0.001, 0.0), (-1e30, 1e30), (2.0, 1.0))
FEW = [-10.0, -1.0, -0.5, 0.0, 0.25, 0.5, 3.0]  # Too few for TensorFlow's vectorised loop, which converts NaN to another number.


def quantized(type_, values) -> np.ndarray:
    return np.array(values, QUANTIZED[type_]).view(type_.as_numpy_dtype)


def to_integers() -> None:
    steps = np.concatenate([np.linspace(-7, 7, 57), [INF, -INF, 1e30, 2.5, 3.5, -2.5, -3.5]]).astype(np.float32)
    for type_ in QUANTIZED:
        for mode, rounding in MODES:
            given = {"T": type_, "mode": mode, "round_mode": rounding}
            for low, high in RANGES:
                case("QuantizeV2", input=steps, min_range=f32(low), max_range=f32(high), **given)
            case("QuantizeV2", input=steps, min_range=f32(-4), max_range=f32(3), narrow_range=True, **given)
            for low, high in ((NAN, 1.0), (-1.0, NAN), (-INF, 1.0), (-1.0, INF)):
                case("QuantizeV2", input=f32(FEW), min_range=f32(low), max_range=f32(high), **given)
            case("QuantizeV2", input=f32(NAN, INF, -INF), min_range=f32(-1), max_range=f32(2), **given)
            for closest in (0.0, 1.0, -1.0):
                case("QuantizeV2", input=f32(FEW), min_range=f32(0), max_range=f32(0.1), ensure_minimum_range=closest, **given)
            for axis, count in ((0, 2), (1, 3), (2, 4), (3, 1), (-1, 1), (-2, 1)):
                case("QuantizeV2", input=ramp(2, 3, 4), min_range=np.linspace(-3, -1, count).astype(np.float32),
                     max_range=np.linspace(1, 4, count).astype(np.float32), axis=axis, **given)
    given = {"T": tf.qint8, "mode": "SCALED"}
    for low, high in ((f32([-1]), f32([1])), (f32([[-1]]), f32([1])), (f32(-1, 0), f32(1, 2)), (f32([]), f32([]))):
        case("QuantizeV2", input=ramp(2, 3), min_range=low, max_range=high, **given)
        for rows in (0, 1, 2):
            case("QuantizeV2", input=ramp(rows, 3), min_range=low, max_range=high, axis=0, **given)
    case("QuantizeV2", input=ramp(2, 3), min_range=f32(-1, 0), max_range=f32([1]), axis=0, **given)
    case("QuantizeV2", input=ramp(2, 3), min_range=f32(-1, 2), max_range=f32(1, 1), axis=0, **given)
    case("QuantizeV2", input=ramp(1, 3), min_range=f32(-1), max_range=f32(1), axis=0, **given)
    case("QuantizeV2", input=ramp(1, 3), min_range=f32([-1]), max_range=f32([1]), axis=0, T=tf.qint8, mode="MIN_FIRST")
    case("QuantizeV2", input=ramp(0, 3), min_range=f32(-1), max_range=f32(1), **given)
    case("QuantizeV2", input=f32(1.5), min_range=f32(-1), max_range=f32(2), **given)
    case("QuantizeV2", input=f32(1.5), min_range=f32(-1), max_range=f32(2), axis=0, **given)


def to_floats() -> None:
    for type_, of in QUANTIZED.items():
        low, high = np.iinfo(of).min, np.iinfo(of).max
        ends = quantized(type_, [low, low + 1, low // 2, 0, 1, 3, 100, high // 2, high - 1, high])
        block = quantized(type_, [low, low + 1, 0, 1, 2, 3, 50, high - 1, high, 7, 11, 99]).reshape(2, 3, 2)
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for least, most in (*RANGES, (NAN, 1.0), (-1.0, NAN), (-INF, 1.0), (-1.0, INF)):
                for narrow in (False, True):
                    case("Dequantize", input=ends, min_range=f32(least), max_range=f32(most), mode=mode, narrow_range=narrow)
            case("Dequantize", input=ends, min_range=f32(-1.5), max_range=f32(2), mode=mode, dtype=tf.bfloat16)
            for axis, count in ((0, 2), (1, 3), (2, 2), (3, 1), (-1, 1), (-2, 1), (0, 1), (0, 3)):
                case("Dequantize", input=block, min_range=np.linspace(-3, -1, count).astype(np.float32),
                     max_range=np.linspace(1, 4, count).astype(np.float32), axis=axis, mode=mode)
    three = quantized(tf.qint8, [[1, -2, 3]])
    for axis in (-1, 0):
        for least, most in ((f32(-1), f32(1)), (f32([-1]), f32([[1]])), (f32([]), f32([])), (f32([-1]), f32(1, 2))):
            case("Dequantize", input=three, min_range=least, max_range=most, axis=axis)
    case("Dequantize", input=three[:0], min_range=f32(-1), max_range=f32(1))
    case("Dequantize", input=three[:0], min_range=f32([]), max_range=f32([]), axis=0)
    case("Dequantize", input=three[0, 0:1].reshape(()), min_range=f32(-1), max_range=f32(1))
    case("Dequantize", input=three, min_range=f32(-1), max_range=f32(1), dtype=tf.half)
    case("Reshape", tensor=three, shape=i32(3, 1))
    case("GatherV2", params=three, indices=i32(2, 0), axis=i32(1))


for family in (fakes, rounded, to_integers, to_floats):
    family()
