"""Values moved to what some bits can tell apart."""

from op_cases.case import INF, case, f32, f64, i32, ramp

# Nothing that lies in the middle of two steps: there TensorFlow's own kernels differ by how they round on the way.
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


for family in (fakes, rounded):
    family()
