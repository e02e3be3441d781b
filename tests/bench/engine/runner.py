"""The peers of ./dev bench engine: runs one model in another engine, with the same commands as longshore-engine (runner.h).

    runner.py ENGINE MODEL THREADS        ENGINE: tensorflow, onnxruntime, openvino; MODEL: a SavedModel or an ONNX file

Each engine is called with the least overhead in Python, so that the measurements show the time of the engine. One command is not in
runner.h:
  tune NAME        selects the fastest way in which this engine can run the model -> the time of each way
"""

import dataclasses
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

TUNE_RUNS_MIN, TUNE_RUNS_MAX, TUNE_S = 3, 200, 0.5
SIGNATURE = "serving_default"


@dataclasses.dataclass
class Prepared:
    """A model with its inputs. `run` is timed; `read` converts its result to arrays."""
    run: Callable[[], object]
    read: Callable[[object], dict[str, np.ndarray]]


class TensorFlow:
    """Runs the signature as loaded. `ways` adds two ways: the signature with its variables as constants, and a session that runs
    this frozen graph on the thread of the caller."""

    def __init__(self):
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        import tensorflow
        self.tf = tensorflow
        self.frozen = None

    def load(self, model, threads):
        self.threads = threads
        self.tf.config.threading.set_intra_op_parallelism_threads(threads)
        self.tf.config.threading.set_inter_op_parallelism_threads(1)
        self.loaded = self.tf.saved_model.load(model)
        self.signature = self.loaded.signatures[SIGNATURE]

    def prepare(self, arrays):
        tensors = {name: self.tf.constant(value) for name, value in arrays.items()}
        return Prepared(lambda: self.signature(**tensors),
                        lambda answer: {name: value.numpy() for name, value in answer.items()})

    def ways(self):
        return {"as loaded": self.prepare, "frozen": self._as_function, "frozen in a session": self._in_session}

    def _freeze(self):
        if self.frozen is not None:
            return
        from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
        self.frozen = convert_variables_to_constants_v2(self.signature)
        # The outputs of a frozen function have no names; they are in the order of the names in the signature.
        self.outputs = sorted(self.signature.structured_outputs)
        self.inputs = [tensor.name.split(":")[0] for tensor in self.frozen.inputs]
        graph = self.tf.Graph()
        with graph.as_default():
            self.tf.import_graph_def(self.frozen.graph.as_graph_def(), name="")
        config = self.tf.compat.v1.ConfigProto(intra_op_parallelism_threads=self.threads, inter_op_parallelism_threads=1)
        self.session = self.tf.compat.v1.Session(graph=graph, config=config)

    def _named(self, values):
        return dict(zip(self.outputs, values, strict=True))

    def _as_function(self, arrays):
        self._freeze()
        tensors = [self.tf.constant(arrays[name]) for name in self.inputs]
        return Prepared(lambda: self.frozen(*tensors), lambda values: self._named(value.numpy() for value in values))

    def _in_session(self, arrays):
        self._freeze()
        from tensorflow.core.protobuf import config_pb2
        options = config_pb2.CallableOptions()
        options.feed.extend(tensor.name for tensor in self.frozen.inputs)
        options.fetch.extend(tensor.name for tensor in self.frozen.outputs)
        options.run_options.inter_op_thread_pool = -1  # The thread of the caller, which no public Python function can select.
        call = self.session._make_callable_from_options(options)
        fed = [arrays[name] for name in self.inputs]
        return Prepared(lambda: call(*fed), self._named)


class OnnxRuntime:
    """Binds the inputs in advance; outputs stay in the memory that the session allocates."""

    def __init__(self):
        import onnxruntime
        self.ort = onnxruntime

    def load(self, model, threads):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = self.ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.outputs = [output.name for output in self.session.get_outputs()]

    def prepare(self, arrays):
        binding = self.session.io_binding()
        values = {name: self.ort.OrtValue.ortvalue_from_numpy(value) for name, value in arrays.items()}
        for name, value in values.items():
            binding.bind_ortvalue_input(name, value)
        for name in self.outputs:
            binding.bind_output(name, "cpu")
        return Prepared(lambda: self.session.run_with_iobinding(binding),
                        lambda _: dict(zip(self.outputs, binding.copy_outputs_to_cpu(), strict=True)))


class OpenVino:
    """Reshapes the model to the shapes of the inputs; the request shares their memory."""

    def __init__(self):
        import openvino
        self.ov = openvino

    def load(self, model, threads):
        self.core, self.path = self.ov.Core(), model
        self.hints = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}

    def prepare(self, arrays):
        model = self.core.read_model(self.path)
        model.reshape({name: list(value.shape) for name, value in arrays.items()})
        compiled = self.core.compile_model(model, "CPU", self.hints)
        request = compiled.create_infer_request()
        shared = {name: self.ov.Tensor(value, shared_memory=True) for name, value in arrays.items()}
        for name, value in shared.items():
            request.set_tensor(name, value)
        names = {self._name_of(output.get_any_name(), arrays): output for output in compiled.outputs}
        return Prepared(lambda: request.infer(share_outputs=True),
                        lambda _: {name: request.get_tensor(output).data for name, output in names.items()})

    @staticmethod
    def _name_of(output, inputs):
        """Removes the suffix _1, which OpenVINO adds to the name of an output if an input has the same name."""
        name = output.removesuffix("_1")
        return name if name in inputs else output


class Runner:
    def __init__(self, engine):
        self.engine = engine
        self.prepared, self.arrays = {}, {}

    def inputs(self, name, folder):
        self.arrays[name] = {path.stem: np.load(path) for path in pathlib.Path(folder).glob("*.npy")}
        began = time.perf_counter()
        self.prepared[name] = self.engine.prepare(self.arrays[name])
        return f"{time.perf_counter() - began:.6f}"

    def time(self, name, count):
        return " ".join(f"{seconds:.9f}" for seconds in taken(self.prepared[name], int(count)))

    def save(self, name, folder):
        prepared = self.prepared[name]
        for output, value in prepared.read(prepared.run()).items():
            np.save(pathlib.Path(folder) / f"{output}.npy", value)
        return "ok"

    def memory(self):
        status = pathlib.Path("/proc/self/status").read_text()
        return status.split("VmRSS:")[1].split()[0]

    def tune(self, name):
        took, texts = {}, []
        for way, prepare in self.engine.ways().items():
            try:
                prepared = prepare(self.arrays[name])
                took[way] = seconds_of(prepared), prepared
                texts.append(f"{way} {took[way][0] * 1e3:.3f} ms")
            except Exception as error:  # The other ways may still work.
                texts.append(f"{way} failed: {first_line(error)}")
        best = min(took, key=lambda way: took[way][0])
        self.prepared[name] = took[best][1]
        return f"{best}, the fastest of: " + ", ".join(texts)

    def execute(self, verb, *arguments):
        verbs = {"inputs": self.inputs, "time": self.time, "save": self.save, "memory": self.memory, "tune": self.tune}
        return verbs[verb](*arguments)


def taken(prepared, count):
    """Runs `count` times. Returns the seconds of each run."""
    seconds = []
    for _ in range(count):
        began = time.perf_counter()
        prepared.run()
        seconds.append(time.perf_counter() - began)
    return seconds


def seconds_of(prepared):
    """Returns the median seconds of several runs, after warm-up runs."""
    first = taken(prepared, TUNE_RUNS_MIN)[-1]
    return statistics.median(taken(prepared, max(TUNE_RUNS_MIN, min(TUNE_RUNS_MAX, int(TUNE_S / max(first, 1e-6))))))


ENGINES = {"tensorflow": TensorFlow, "onnxruntime": OnnxRuntime, "openvino": OpenVino}


def first_line(error):
    return str(error).strip().split("\n")[0] or type(error).__name__


def load(name, model, threads):
    """Loads the model in the engine. Prints the seconds of the load and of opening the library."""
    began = time.perf_counter()
    engine = ENGINES[name]()
    opened = time.perf_counter()
    engine.load(model, threads)
    print(f"loaded {time.perf_counter() - opened:.6f} {opened - began:.6f}", flush=True)
    return engine


def main():
    try:
        runner = Runner(load(sys.argv[1], sys.argv[2], int(sys.argv[3])))
    except Exception as error:  # The benchmark reports the error and continues.
        print("error: " + first_line(error), flush=True)
        return
    for line in sys.stdin:
        try:
            print(runner.execute(*line.split()), flush=True)
        except Exception as error:  # The benchmark reports the error and continues.
            print("error: " + first_line(error), flush=True)


if __name__ == "__main__":
    main()
