"""Short forms for starting nodes, and for building and sending requests."""

import pathlib
import shutil
import subprocess
from collections.abc import Callable

import grpc
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2
from serving import BINARY, ROOT, running_node
from tensorflow_serving.apis import predict_pb2

MODELS = ROOT / "tests" / "models"

SECONDS = 30


def request(model: str, signature: str = "", version: int | None = None, label: str = "", **inputs):
    proto = predict_pb2.PredictRequest()
    proto.model_spec.name = model
    proto.model_spec.signature_name = signature
    if version is not None:
        proto.model_spec.version.value = version
    if label:
        proto.model_spec.version_label = label
    for name, value in inputs.items():
        proto.inputs[name].CopyFrom(value if isinstance(value, tensor_pb2.TensorProto) else tf.make_tensor_proto(value))
    return proto


def predict(node, proto):
    return node.predictions.Predict(proto, timeout=SECONDS)


def call_error(call, *arguments) -> tuple[grpc.StatusCode, str]:
    """Makes a call that must fail; returns the code and the text of its error."""
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, timeout=SECONDS)
    return caught.value.code(), caught.value.details()


def floats(shape, **fields) -> tensor_pb2.TensorProto:
    proto = tensor_pb2.TensorProto(dtype=tf.float32.as_datatype_enum, **fields)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def change_model(folder: pathlib.Path, model: str, change: Callable[[meta_graph_pb2.MetaGraphDef], None]) -> None:
    """Copies version 1 of a model to the folder and changes its graph."""
    shutil.copytree(MODELS / model / "1", folder / "1")
    file = folder / "1" / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    change(saved.meta_graphs[0])
    file.write_bytes(saved.SerializeToString())


def example(**features: float) -> tf.train.Example:
    proto = tf.train.Example()
    for name, value in features.items():
        proto.features.feature[name].float_list.value.append(value)
    return proto


def run_node(*flags: str) -> subprocess.CompletedProcess:
    """Runs longshore-node until it ends, for flags that it rejects or with which it ends on its own."""
    return subprocess.run([BINARY, *flags], capture_output=True, text=True, timeout=SECONDS)


def serve(model: str, tmp_path_factory, *flags: str):
    with running_node(tmp_path_factory.mktemp(model), model, MODELS / model, *flags) as node:
        yield node.serving()
