"""A node for a test, and requests made shortly."""

import subprocess

import grpc
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from serving import BINARY, ROOT, running_node
from tensorflow_serving.apis import predict_pb2

MODELS = ROOT / "tests" / "models"

SECONDS = 30


def request(model: str, signature: str = "", version: int | None = None, label: str = "", **inputs):
    made = predict_pb2.PredictRequest()
    made.model_spec.name = model
    made.model_spec.signature_name = signature
    if version is not None:
        made.model_spec.version.value = version
    if label:
        made.model_spec.version_label = label
    for name, value in inputs.items():
        made.inputs[name].CopyFrom(value if isinstance(value, tensor_pb2.TensorProto) else tf.make_tensor_proto(value))
    return made


def predict(node, made):
    return node.predictions.Predict(made, timeout=SECONDS)


def refusal(call, *arguments) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, timeout=SECONDS)
    return caught.value.code(), caught.value.details()


def floats(shape, **fields) -> tensor_pb2.TensorProto:
    made = tensor_pb2.TensorProto(dtype=tf.float32.as_datatype_enum, **fields)
    for size in shape:
        made.tensor_shape.dim.add(size=size)
    return made


def example(**features: float) -> tf.train.Example:
    made = tf.train.Example()
    for name, value in features.items():
        made.features.feature[name].float_list.value.append(value)
    return made


def run_node(*flags: str) -> subprocess.CompletedProcess:
    """The node with flags that it refuses, or that let it end by itself."""
    return subprocess.run([BINARY, *flags], capture_output=True, text=True, timeout=SECONDS)


def serve(model: str, tmp_path_factory, *flags: str):
    with running_node(tmp_path_factory.mktemp(model), model, MODELS / model, *flags) as node:
        yield node.serving()
