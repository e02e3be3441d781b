"""Longshore's protobuf files agree with the descriptors of TensorFlow, TensorFlow Serving and OpenTelemetry: names, numbers, types, services."""

import pathlib
import subprocess

import pytest
import tensorflow  # noqa: F401  (registers TensorFlow's descriptors)
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import FieldDescriptor
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # noqa: F401  (registers OpenTelemetry's descriptors)
from tensorflow.core.example import example_pb2  # noqa: F401
from tensorflow.core.protobuf import fingerprint_pb2, saved_model_pb2, tensor_bundle_pb2  # noqa: F401
from tensorflow.tsl.profiler.protobuf import profiler_options_pb2, xplane_pb2  # noqa: F401
from tensorflow_serving.apis import model_service_pb2, prediction_log_pb2, prediction_service_pb2  # noqa: F401

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
# Python packages have no descriptors of files that only servers read.
SERVERS_ONLY = {"tensorflow_serving/config.proto", "tensorflow/profiler_service.proto"}
FILES = sorted(str(path.relative_to(PROTO)) for pattern in ("tensorflow*", "opentelemetry") for path in PROTO.glob(f"{pattern}/*.proto"))
THEIRS = descriptor_pool.Default()


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    out = tmp_path_factory.mktemp("proto") / "all.pb"
    subprocess.run(["protoc", f"-I{PROTO}", "--include_imports", f"--descriptor_set_out={out}", *FILES], check=True)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    return pool


def _describe(field: FieldDescriptor) -> dict:
    named = field.message_type or field.enum_type
    return {
        "name": field.name, "number": field.number, "type": field.type, "repeated": field.is_repeated,
        "of": named.full_name if named else None, "presence": field.has_presence,
    }


def _alternatives(field: FieldDescriptor) -> set[str]:
    """Returns the names of the fields in the same oneof. The name of the oneof may differ: it is not transmitted."""
    return {other.name for other in field.containing_oneof.fields} if field.containing_oneof else set()


def _check_field(field: FieldDescriptor, theirs: FieldDescriptor) -> None:
    assert _describe(field) == _describe(theirs), field.full_name
    assert bool(_alternatives(field)) == bool(_alternatives(theirs)), field.full_name
    assert _alternatives(field) <= _alternatives(theirs), field.full_name


def _check_enum(enum) -> None:
    theirs = {value.name: value.number for value in THEIRS.FindEnumTypeByName(enum.full_name).values}
    assert {value.name: value.number for value in enum.values}.items() <= theirs.items(), enum.full_name


def _check_message(message) -> int:
    theirs = THEIRS.FindMessageTypeByName(message.full_name)
    for field in message.fields:
        assert field.name in theirs.fields_by_name, f"{message.full_name}.{field.name}"
        _check_field(field, theirs.fields_by_name[field.name])
    for enum in message.enum_types:
        _check_enum(enum)
    return len(message.fields) + sum(_check_message(nested) for nested in message.nested_types)


@pytest.mark.parametrize("name", [name for name in FILES if name not in SERVERS_ONLY])
def test_messages_and_enums_agree_with_the_originals(ours, name):
    file = ours.FindFileByName(name)
    checked = sum(_check_message(message) for message in file.message_types_by_name.values())
    for enum in file.enum_types_by_name.values():
        _check_enum(enum)
    assert checked + len(file.enum_types_by_name) > 0


def test_services_have_the_methods_of_tensorflow_serving(ours):
    services = ours.FindFileByName("tensorflow_serving/services.proto").services_by_name
    assert {"PredictionService", "ModelService"} <= set(services)
    for name, service in services.items():
        theirs = THEIRS.FindServiceByName(f"tensorflow.serving.{name}")
        for method in service.methods:
            other = theirs.methods_by_name[method.name]
            assert (method.input_type.full_name, method.output_type.full_name) == (
                other.input_type.full_name, other.output_type.full_name)
            assert (method.client_streaming, method.server_streaming) == (
                other.client_streaming, other.server_streaming)
