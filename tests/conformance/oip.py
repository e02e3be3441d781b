"""The Open Inference Protocol's messages and calls, from proto/inference."""

import json
import subprocess

import numpy as np
from calls import SECONDS
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from serving import ROOT

SERVICE = "inference.GRPCInferenceService"
NAMES = {np.bool_: "BOOL", np.uint8: "UINT8", np.uint16: "UINT16", np.uint32: "UINT32", np.uint64: "UINT64", np.int8: "INT8",
         np.int16: "INT16", np.int32: "INT32", np.int64: "INT64", np.float16: "FP16", np.float32: "FP32", np.float64: "FP64"}


def _messages() -> dict:
    files = ["inference/model_config.proto", "inference/service.proto"]
    out = subprocess.run(["protoc", f"-I{ROOT / 'proto'}", "--descriptor_set_out=/dev/stdout", *files], check=True, capture_output=True)
    pool = descriptor_pool.DescriptorPool()
    found = descriptor_pb2.FileDescriptorSet.FromString(out.stdout).file
    for file in found:
        pool.Add(file)
    return message_factory.GetMessageClassesForFiles([file.name for file in found], pool) | {"": pool.FindServiceByName(SERVICE)}


MESSAGES = _messages()
METHODS = {method.name: method for method in MESSAGES[""].methods}


def message(name: str, **fields):
    return MESSAGES["inference." + name](**fields)


def call(node, name: str, request=None, /, metadata=None, **fields):
    """Calls a method; its request is made of the fields unless it is given."""
    method = METHODS[name]
    answer = MESSAGES[method.output_type.full_name]
    stub = node.channel.unary_unary(f"/{SERVICE}/{name}", lambda sent: sent.SerializeToString(), answer.FromString)
    request = request if request is not None else MESSAGES[method.input_type.full_name](**fields)
    return stub(request, timeout=SECONDS, metadata=metadata)


def stream(node, requests, metadata=None) -> list:
    stub = node.channel.stream_stream(f"/{SERVICE}/ModelStreamInfer", lambda sent: sent.SerializeToString(),
                                      message("ModelStreamInferResponse").FromString)
    return list(stub(iter(requests), timeout=SECONDS, metadata=metadata))


def packed(array: np.ndarray) -> bytes:
    """Returns the raw form of a tensor."""
    if array.dtype != object:
        return array.tobytes()
    return b"".join(len(one).to_bytes(4, "little") + one for one in array.flat)


def infer_request(model: str, datatype: str, array: np.ndarray, name: str = "x", **parameters):
    request = message("ModelInferRequest", model_name=model, raw_input_contents=[packed(array)])
    request.inputs.add(name=name, datatype=datatype, shape=array.shape)
    for key, value in parameters.items():
        kind = {bool: "bool_param", int: "int64_param", str: "string_param"}[type(value)]
        setattr(request.parameters[key], kind, value)
    return request


def binary_body(datatype: str, array: np.ndarray, name: str = "x", **parameters) -> tuple[bytes, dict]:
    """Returns the body and the headers of a request with binary data."""
    data = packed(array)
    head = json.dumps({"parameters": parameters, "inputs": [{"name": name, "datatype": datatype, "shape": list(array.shape),
                                                             "parameters": {"binary_data_size": len(data)}}]}).encode()
    return head + data, {"Inference-Header-Content-Length": str(len(head))}


def split(answer) -> tuple[dict, list[bytes]]:
    """Returns the JSON of a REST answer, and the bytes of its binary outputs."""
    size = int(answer.headers.get("Inference-Header-Content-Length", len(answer.bytes)))
    head, rest = json.loads(answer.bytes[:size]), answer.bytes[size:]
    tensors = []
    for output in head["outputs"]:
        length = output.get("parameters", {}).get("binary_data_size", 0)
        tensors.append(rest[:length])
        rest = rest[length:]
    assert rest == b""
    return head, tensors
