"""Recurrent cells that are single ops."""

import numpy as np
import tensorflow as tf

from op_cases.case import INF, NAN, case, f32, graph, i64, ramp


def weights(batch: int, inputs: int, cells: int) -> dict:
    """The weights of an LSTM and its initial state. All sums of products are exact. The state is far enough from zero that
    additions do not cancel its digits, because TensorFlow's functions are only exact to about 1e-7."""
    return {"cs_prev": ramp(batch, cells, scale=0.125) + np.float32(9), "h_prev": ramp(batch, cells, scale=-0.125),
            "w": ramp(inputs + cells, 4 * cells, scale=0.03125), "wci": ramp(cells, scale=0.125), "wcf": ramp(cells, scale=-0.0625),
            "wco": ramp(cells, scale=0.125), "b": ramp(4 * cells, scale=0.0625) + np.float32(0.03125)}


# Each replaces one input by one with a wrong shape. The peephole is a matrix: without peepholes, vectors of any size
# are accepted.
MISFITS = ({"cs_prev": ramp(2, 3)}, {"cs_prev": ramp(3, 4)}, {"h_prev": ramp(2, 5)}, {"h_prev": ramp(1, 4)}, {"w": ramp(7, 12)},
           {"w": ramp(8, 16)}, {"w": ramp(7, 18)}, {"b": ramp(1)}, {"b": ramp(4, 4)}, {"wci": ramp(4, 1)})


def cells() -> None:
    for batch, inputs, states in ((1, 1, 1), (5, 0, 2), (3, 8, 5), (0, 3, 4)):
        given = {"x": ramp(batch, inputs), **weights(batch, inputs, states)}
        for peepholes in (False, True):
            case("LSTMBlockCell", use_peephole=peepholes, **given)
    given = {"x": ramp(2, 3), **weights(2, 3, 4)}
    for peepholes in (False, True):
        for clip in (3.0, 0.5, 0.0, -1.0):
            for bias in (1.0, 0.0, -2.5):
                case("LSTMBlockCell", use_peephole=peepholes, cell_clip=clip, forget_bias=bias, **given)
    for values in ([NAN, 1, 2], [INF, 0, 0], [-INF, 1e30, -1e30]):
        case("LSTMBlockCell", **{**given, "x": f32([values, [1, 2, 3]])})
        case("LSTMBlockCell", **{**given, "cs_prev": f32([[*values, 1], [1, 2, 3, 4]])}, use_peephole=True)
    for misfit in MISFITS:
        case("LSTMBlockCell", **{**given, **misfit})
    case("LSTMBlockCell", **{**given, "wci": ramp(5), "wcf": ramp(0)})


def sequences() -> None:
    for op in ("BlockLSTM", "BlockLSTMV2"):
        for steps, batch, inputs, states in ((3, 2, 3, 4), (1, 1, 1, 1), (2, 4, 0, 2)):
            given = {"seq_len_max": i64(steps), "x": ramp(steps, batch, inputs), **weights(batch, inputs, states)}
            for peepholes in (False, True):
                for clip in (3.0, 0.5, 0.0):
                    case(op, use_peephole=peepholes, cell_clip=clip, **given)
        given = {"x": ramp(3, 2, 3), **weights(2, 3, 4)}
        if op == "BlockLSTM":
            case(op, seq_len_max=i64(3), forget_bias=-0.5, **given)
        for length in (0, 1, 2):
            graph(op, lambda feed, op=op, length=length, given=given: [  # The other outputs are uninitialised memory in TensorFlow.
                getattr(getattr(tf.raw_ops, op)(seq_len_max=feed(i64(length)), **{k: feed(v) for k, v in given.items()}), name)
                for name in ("cs", "h")])
        case(op, seq_len_max=i64([3]), **given)
        case(op, seq_len_max=i64(3), **{**given, "x": f32([[[NAN, 1, 2], [1, 2, 3]]] * 3)})
        for misfit in (*MISFITS, {"wci": ramp(5)}, {"x": ramp(2, 3)}):
            case(op, seq_len_max=i64(3), **{**given, **misfit})


def gated() -> None:
    def of(batch: int, inputs: int, states: int) -> dict:
        return {"x": ramp(batch, inputs), "h_prev": ramp(batch, states, scale=-0.125),
                "w_ru": ramp(inputs + states, 2 * states, scale=0.03125), "w_c": ramp(inputs + states, states, scale=0.0625),
                "b_ru": ramp(2 * states, scale=0.0625), "b_c": ramp(states, scale=0.0625) + np.float32(0.03125)}

    for batch, inputs, states in ((2, 3, 4), (1, 1, 1), (5, 0, 2), (3, 7, 13), (0, 3, 4)):
        case("GRUBlockCell", **of(batch, inputs, states))
    given = of(2, 3, 4)
    for values in ([NAN, 1, 2], [INF, 0, 0], [-INF, 1e30, -1e30]):
        case("GRUBlockCell", **{**given, "x": f32([values, [1, 2, 3]])})
    for misfit in ({"x": ramp(3, 3)}, {"x": ramp(3)}, {"h_prev": ramp(4)}, {"h_prev": ramp(2, 5)}, {"w_ru": ramp(7, 7)}, {"w_ru": ramp(6, 8)},
                   {"w_c": ramp(7, 5)}, {"w_c": ramp(28)}, {"b_ru": ramp(7)}, {"b_ru": ramp(8, 1)}, {"b_c": ramp(1)}):
        case("GRUBlockCell", **{**given, **misfit})


for family in (cells, sequences, gated):
    family()
