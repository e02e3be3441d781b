"""The peers of ./dev bench engine: one model in another engine, told by the same lines as longshore-engine (runner.h).

    runner.py ENGINE DIR THREADS        ENGINE: tensorflow, onnxruntime, openvino; DIR: a SavedModel, or model.onnx
"""

import os
import pathlib
import sys
import time

BEGAN = time.perf_counter()
ENGINE, MODEL, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np  # noqa: E402


def tensorflow():
    """The signature as a concrete function, whose variables are constants: the quickest that Python reaches."""
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    loaded = tf.saved_model.load(MODEL)
    infer = loaded.signatures["serving_default"]
    run = lambda inputs: infer(**inputs)  # noqa: E731
    run.keep = loaded
    return (lambda inputs: {name: tf.constant(value) for name, value in inputs.items()}, run,
            lambda outputs: {name: value.numpy() for name, value in outputs.items()})


def onnxruntime():
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: inputs, lambda inputs: session.run(names, inputs), lambda outputs: dict(zip(names, outputs))


def openvino():
    import openvino as ov
    core = ov.Core()
    model = core.compile_model(MODEL, "CPU", {"INFERENCE_NUM_THREADS": THREADS, "INFERENCE_PRECISION_HINT": "f32",
                                              "PERFORMANCE_HINT": "LATENCY"})
    request = model.create_infer_request()
    return (lambda inputs: inputs, lambda inputs: request.infer(inputs, share_inputs=True),
            lambda outputs: {key.get_any_name(): value for key, value in outputs.items()})


class Runner:
    def __init__(self):
        self.prepare, self.run, self.plain = {"tensorflow": tensorflow, "onnxruntime": onnxruntime, "openvino": openvino}[ENGINE]()
        self.inputs = {}

    def obey(self, verb, name="", rest=""):
        if verb == "inputs":
            arrays = {path.stem: np.load(path) for path in pathlib.Path(rest).glob("*.npy")}
            self.inputs[name] = self.prepare(arrays)
            return "ok"
        if verb == "time":
            return self.time(self.inputs[name], int(rest))
        if verb == "save":
            for output, value in self.plain(self.run(self.inputs[name])).items():
                np.save(pathlib.Path(rest) / f"{output}.npy", value)
            return "ok"
        status = pathlib.Path("/proc/self/status").read_text()
        return status.split("VmRSS:")[1].split()[0]

    def time(self, inputs, count):
        seconds = []
        for _ in range(count):
            began = time.perf_counter()
            self.run(inputs)
            seconds.append(f"{time.perf_counter() - began:.9f}")
        return " ".join(seconds)


def main():
    runner = Runner()
    print(f"loaded {time.perf_counter() - BEGAN:.6f}", flush=True)
    for line in sys.stdin:
        try:
            print(runner.obey(*line.split()), flush=True)
        except Exception as error:  # Whatever it is: the bench says it and goes on.
            print("error: " + str(error).split("\n")[0], flush=True)


if __name__ == "__main__":
    main()
