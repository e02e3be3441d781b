"""Random numbers: the first three runs of stateful ops in a session with a seed, and stateless ops."""

import numpy as np
import tensorflow as tf

from op_cases.case import INF, NAN, case, f32, f64, i32, i64, ramp, text

HALVES = (np.float16, tf.bfloat16)


def stateful() -> None:
    for seed, seed2 in ((1, 0), (0, 7), (42, 2**40 + 3), (-5, 11)):
        seeds = {"seed": seed, "seed2": seed2, "runs": 3}
        for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
            for dtype in (np.float32, np.float64, *HALVES):
                for shape in ([7], [2, 3, 4], [1]):
                    case(op, shape=i32(shape), dtype=dtype, **seeds)
            case(op, shape=i64([]), dtype=np.float32, **seeds)
            case(op, shape=i32(0, 3), dtype=np.float32, **seeds)
            case(op, shape=i32([-1]), dtype=np.float32, **seeds)
        for low, high in ((0, 10), (-5, 3), (0, 2**31 - 1), (-(2**31), 2**31 - 1)):
            case("RandomUniformInt", shape=i32(2, 5), minval=i32(low), maxval=i32(high), **seeds)
            case("RandomUniformInt", shape=i32(2, 5), minval=i64(low * 2**20), maxval=i64(high * 2**30), **seeds)
        case("RandomUniformInt", shape=i32([2]), minval=i32(3), maxval=i32(3), **seeds)
        case("RandomUniformInt", shape=i32([0]), minval=i32(3), maxval=i32(3), **seeds)
        for value in (ramp(9), ramp(5, 2), i64(1, 2), ramp(1, 3), f32(1.0), ramp(0, 2), text("a", "b", "c")):
            case("RandomShuffle", value=value, **seeds)
        for logits in (f32([[0, 0, 0]]), f32([[1, 2, 3, -1], [0, 5, 0, 0]]), f64([[-INF, 1, 1]]), f32([[NAN, 1, 1]])):
            for count in (1, 6, 0):
                case("Multinomial", logits=logits, num_samples=i32(count), **seeds)
        case("Multinomial", logits=f32([[1, 2]]), num_samples=i32(3), output_dtype=np.int32, **seeds)
        case("Multinomial", logits=f32([[1, 2]]), num_samples=i32(-3), **seeds)
        case("Multinomial", logits=f32([1, 2]), num_samples=i32(3), **seeds)
    case("TruncatedNormal", shape=i32([500]), dtype=np.float32, seed=3)
    case("RandomUniform", shape=i32([1000]), dtype=np.float32, seed=3)


def stateless() -> None:
    for seed in (i32(1, 2), i64(-5, 2**40), i32(0, 0)):
        case("StatelessRandomGetKeyCounter", seed=seed)
        case("StatelessRandomGetKeyCounterAlg", seed=seed)
        for op in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
            for dtype in (np.float32, np.float64, *HALVES):
                case(op, shape=i32(2, 5), seed=seed, dtype=dtype)
            case(op, shape=i32([]), seed=seed)
            case(op, shape=i32(0, 2), seed=seed)
            case(op, shape=i32([-2]), seed=seed)
        for low, high in ((0, 10), (-5, 3), (-(2**31), 2**31 - 1), (4, 4)):
            case("StatelessRandomUniformInt", shape=i32(2, 5), seed=seed, minval=i32(low), maxval=i32(high))
            case("StatelessRandomUniformInt", shape=i32(2, 5), seed=seed, minval=i64(low), maxval=i64(high))
        for dtype in (np.int32, np.int64, np.uint32, np.uint64):
            case("StatelessRandomUniformFullInt", shape=i32([7]), seed=seed, dtype=dtype)
        for count in (1, 6):
            case("StatelessMultinomial", logits=f32([[1, 2, 3, -1], [0, 5, 0, 0]]), num_samples=i32(count), seed=seed)
            case("StatelessMultinomial", logits=f32([[1, 2]]), num_samples=i32(count), seed=seed, output_dtype=np.int32)
    case("StatelessRandomGetAlg")
    case("StatelessRandomGetKeyCounter", seed=i32(1, 2, 3))
    case("StatelessRandomUniform", shape=i32([2]), seed=i32([1]))
    for key, counter, algorithm in (([5], [0, 9], 1), ([2**63 + 7], [2**40, 2**50], 3), ([5], [2**64 - 1, 3], 1)):
        given = {"key": np.array(key, np.uint64), "counter": np.array(counter, np.uint64), "alg": i32(algorithm)}
        for op in ("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"):
            for dtype in (np.float32, np.float64, *HALVES):
                case(op, shape=i32(2, 5), dtype=dtype, **given)
        case("StatelessRandomUniformIntV2", shape=i32([7]), minval=i32(-5), maxval=i32(9), **given)
        case("StatelessRandomUniformIntV2", shape=i32([7]), minval=i64(-5), maxval=i64(2**40), **given)
        for dtype in (np.int32, np.int64, np.uint32, np.uint64):
            case("StatelessRandomUniformFullIntV2", shape=i32([7]), dtype=dtype, **given)
    bad = {"shape": i32([2]), "key": np.array([1], np.uint64), "counter": np.array([0, 1], np.uint64), "alg": i32(1)}
    case("StatelessRandomUniformV2", **(bad | {"alg": i32(9)}))
    case("StatelessRandomUniformV2", **(bad | {"key": np.array([1, 2], np.uint64)}))


for family in (stateful, stateless):
    family()
