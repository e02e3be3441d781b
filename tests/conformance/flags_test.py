"""Every flag of tensorflow_model_server is either supported or rejected with an explanation."""

import os

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, predict, request, run_node
from serving import BINARY, running_node


@pytest.mark.contract("F1")
@pytest.mark.parametrize("flag", ["--prot=1", "--port_=1", "extra", "-x"])
def test_an_unknown_argument_ends_the_program_and_is_named(flag):
    done = run_node(f"--model_base_path={MODELS / 'half_plus_two_tf1'}", flag)
    assert done.returncode != 0
    assert f"unknown argument: {flag}" in done.stdout + done.stderr


# All flags of tensorflow_model_server 2.20, each with a valid value.
ALL = {
    "port": 0, "grpc_socket_path": "/s", "rest_api_port": 0, "rest_api_num_threads": 2, "rest_api_timeout_in_ms": 1000,
    "rest_api_enable_cors_support": "true", "enable_batching": "true", "allow_version_labels_for_unavailable_models": "true",
    "batching_parameters_file": "/f", "enable_per_model_batching_parameters": "true", "model_config_file": "/f",
    "model_config_file_poll_wait_seconds": 1, "model_name": "m", "model_base_path": "/m", "num_load_threads": 2,
    "num_unload_threads": 2, "max_num_load_retries": 1, "load_retry_interval_micros": 1000,
    "file_system_poll_wait_seconds": 1, "flush_filesystem_caches": "true", "tensorflow_session_parallelism": 2,
    "tensorflow_intra_op_parallelism": 2, "tensorflow_inter_op_parallelism": 2, "tensorflow_session_config_file": "/f",
    "use_alts_credentials": "true", "ssl_config_file": "/f", "platform_config_file": "/f",
    "per_process_gpu_memory_fraction": 0.5, "saved_model_tags": "serve", "grpc_channel_arguments": "a=1",
    "grpc_max_threads": 4, "enable_model_warmup": "false", "num_request_iterations_for_warmup": 2, "version": "true",
    "monitoring_config_file": "/f", "remove_unused_fields_from_bundle_metagraph": "true", "prefer_tflite_model": "true",
    "num_tflite_pools": 1, "num_tflite_interpreters_per_pool": 1, "enable_signature_method_name_check": "true",
    "xla_cpu_compilation_enabled": "true", "xla_gpu_compilation_enabled": "true", "enable_profiler": "true",
    "thread_pool_factory_config_file": "/f", "mixed_precision": "bfloat16", "skip_initialize_tpu": "true",
    "enable_grpc_healthcheck_service": "true", "enable_serialization_as_tensor_content": "true"}
# The flags of earlier releases that 2.20 no longer has, with the releases that had them.
EARLIER = {
    "use_tflite_model": "true",  # 1.15 to 2.2
    "use_saved_model": "false", "model_version_policy": "ALL_VERSIONS"}  # 0.5.1 to 0.6


@pytest.mark.contract("F1", "F13")
@pytest.mark.parametrize("name, value", (ALL | EARLIER).items())
def test_every_flag_of_tensorflow_model_server_is_known(name, value):
    done = run_node(f"--{name}={value}", "--port=0")  # There is no REST port either, so the node does not start.
    assert "unknown argument" not in done.stdout + done.stderr


@pytest.mark.contract("F12")
def test_the_version_is_printed():
    done = run_node("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("TensorFlow ModelServer: ") and "\nTensorFlow Library: " in done.stdout


def metrics_at(tmp_path, path: str, config: str | None) -> int:
    flags = []
    if config is not None:
        (tmp_path / "monitoring.txt").write_text(config)
        flags = [f"--monitoring_config_file={tmp_path}/monitoring.txt"]
    with running_node(tmp_path, "half_plus_two_tf1", MODELS / "half_plus_two_tf1", *flags) as node:
        status, text = node.rest(path)
        return status if status != 200 or "# TYPE" in text else 0


@pytest.mark.contract("R14", "F12")
@pytest.mark.parametrize("path, config, status", [
    ("/monitoring/prometheus/metrics", None, 404),
    ("/monitoring/prometheus/metrics", "prometheus_config { enable: true }", 200),
    ("/m", 'prometheus_config { enable: true path: "/m" }', 200),
    ("/m", 'prometheus_config { enable: false path: "/m" }', 404)])
def test_the_metrics_are_at_the_path_of_the_monitoring_config(tmp_path, path, config, status):
    assert metrics_at(tmp_path, path, config) == status


@pytest.mark.contract("F10")
@pytest.mark.parametrize("text, message", [
    ("allow_soft_placement: true", "allow_soft_placement"), ("intra_op_parallelism_threads: x", ":1:"),
    ("intra_op_parallelism_threads: -2", "negative")])
def test_a_session_config_with_more_than_threads_is_rejected(tmp_path, text, message):
    (tmp_path / "session.txt").write_text(text)
    done = run_node(f"--model_base_path={MODELS / 'half_plus_two_tf1'}", f"--tensorflow_session_config_file={tmp_path}/session.txt")
    assert done.returncode != 0
    assert "--tensorflow_session_config_file" in done.stdout + done.stderr and message in done.stdout + done.stderr


@pytest.mark.contract("F10", "F12")
def test_threads_and_channel_arguments_take_effect(tmp_path):
    (tmp_path / "session.txt").write_text("intra_op_parallelism_threads: 1 inter_op_parallelism_threads: 3")
    flags = (f"--tensorflow_session_config_file={tmp_path}/session.txt",
             "--grpc_channel_arguments=grpc.max_receive_message_length=1000,grpc.max_concurrent_streams=5")
    with running_node(tmp_path, "half_plus_two_tf1", MODELS / "half_plus_two_tf1", *flags) as node:
        node.serving()
        assert node.admin_json("/debug/state")["load"]["run_slots"] == 3
        with pytest.raises(grpc.RpcError) as caught:
            node.predictions.Predict(request("half_plus_two_tf1", x=np.zeros(500, np.float32)), timeout=SECONDS)
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.contract("F12")
def test_a_channel_argument_without_a_value_is_rejected():
    done = run_node(f"--model_base_path={MODELS / 'half_plus_two_tf1'}", "--grpc_channel_arguments=grpc.x")
    assert done.returncode != 0 and '"grpc.x" is not name=value' in done.stdout + done.stderr


@pytest.mark.contract("F13")
@pytest.mark.parametrize("flag", [
    "use_alts_credentials=true", "use_alts_credentials", "platform_config_file=/x", "prefer_tflite_model=true",
    "xla_cpu_compilation_enabled=true", "xla_gpu_compilation_enabled=true", "thread_pool_factory_config_file=/x",
    "mixed_precision=bfloat16", "remove_unused_fields_from_bundle_metagraph=false", "use_tflite_model=true", "use_saved_model=false",
    "model_version_policy=ALL_VERSIONS"])
def test_an_unsupported_flag_is_rejected_with_an_explanation(flag):
    done = run_node(f"--model_base_path={MODELS / 'half_plus_two_tf1'}", f"--{flag}")
    assert done.returncode != 0
    message = done.stdout + done.stderr
    name = flag.split("=")[0]
    assert f"--{name}=" in message and " is not supported: " in message
    assert len(message.split(" is not supported: ")[1].strip()) > 15


@pytest.mark.contract("F13")
@pytest.mark.parametrize("flag, message", [
    ("num_tflite_pools=many", "must be a whole number"), ("grpc_max_threads=8.5", "must be a whole number"),
    ("skip_initialize_tpu=maybe", "must be true or false"), ("use_alts_credentials=1", "must be true or false")])
def test_an_unsupported_flag_with_a_value_of_the_wrong_type_is_rejected(flag, message):
    done = run_node(f"--model_base_path={MODELS / 'half_plus_two_tf1'}", f"--{flag}")
    assert done.returncode != 0
    assert f"--{flag}: {message}" in done.stdout + done.stderr


@pytest.mark.contract("F13")
def test_values_that_disable_a_feature_are_accepted(tmp_path):
    flags = ("--use_alts_credentials=false", "--prefer_tflite_model=false", "--xla_cpu_compilation_enabled=false",
             "--skip_initialize_tpu=true", "--num_tflite_pools=2", "--num_tflite_interpreters_per_pool=1", "--grpc_max_threads=8",
             "--enable_grpc_healthcheck_service=false", "--num_unload_threads=0", "--remove_unused_fields_from_bundle_metagraph=true",
             "--use_tflite_model=false", "--use_saved_model=true", "--model_version_policy=LATEST_VERSION")
    with running_node(tmp_path, "half_plus_two_tf1", MODELS / "half_plus_two_tf1", *flags) as node:
        node.serving()


@pytest.mark.contract("F16")
@pytest.mark.parametrize("fraction, message", [
    ("0", None), ("0.4", "has no effect: the engine runs on the CPU"), ("1", "has no effect"), ("1.1", "not in range"), ("-0.1", "not in range")])
def test_the_share_of_gpu_memory_is_checked_and_has_no_effect(tmp_path, fraction, message):
    flag = f"--per_process_gpu_memory_fraction={fraction}"
    if message == "not in range":
        done = run_node(f"--model_base_path={MODELS / 'half_plus_two_tf1'}", flag)
        assert done.returncode != 0 and message in done.stdout + done.stderr
        return
    with running_node(tmp_path, "half_plus_two_tf1", MODELS / "half_plus_two_tf1", flag) as node:
        log = node.serving().log.read_text()
        assert ("--per_process_gpu_memory_fraction" in log and message in log) if message else "fraction" not in log


@pytest.mark.contract("F17")
def test_the_log_level_is_taken_from_the_variables_of_tensorflow(tmp_path):
    def lines(**variables) -> str:
        program = ["env", *(f"{name}={value}" for name, value in variables.items()), BINARY]
        with running_node(tmp_path, "half_plus_two_tf1", MODELS / "half_plus_two_tf1", program=program) as node:
            node.serving()
        return node.log.read_text()
    assert "listening for gRPC" in lines(TF_CPP_MIN_LOG_LEVEL=0)
    assert lines(TF_CPP_MIN_LOG_LEVEL=2) == ""


@pytest.mark.contract("F14")
def test_the_environment_of_the_official_image_names_the_model(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "MODEL_NAME", "half_plus_two_tf1")
    monkeypatch.setitem(os.environ, "MODEL_BASE_PATH", str(MODELS))
    with running_node(tmp_path, "half_plus_two_tf1", None) as node:
        answer = predict(node.serving(), request(node.model, x=np.array([2], np.float32)))
        assert answer.model_spec.name == "half_plus_two_tf1"


# Scripts write --ssl_config_file=$FILE, and FILE may be unset.
@pytest.mark.contract("F13")
def test_an_empty_text_has_the_effect_of_no_flag(tmp_path):
    names = ("batching_parameters_file", "grpc_channel_arguments", "grpc_socket_path", "mixed_precision", "model_config_file",
             "monitoring_config_file", "platform_config_file", "saved_model_tags", "ssl_config_file",
             "tensorflow_session_config_file", "thread_pool_factory_config_file")
    with running_node(tmp_path, "half_plus_two_tf1", MODELS / "half_plus_two_tf1", *(f"--{name}=" for name in names)) as node:
        node.serving()
        assert "--ssl_config_file= has no effect, because it is empty" in node.log.read_text()
