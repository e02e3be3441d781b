"""Runs a longshore-node for a test, with clients of its gRPC and REST APIs."""

import contextlib
import json
import os
import pathlib
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import get_model_status_pb2, model_service_pb2_grpc, predict_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("LONGSHORE_NODE", ROOT / "build/dev/bin/longshore-node"))
START_SECONDS, CALL_SECONDS = 60, 60

State = get_model_status_pb2.ModelVersionStatus.State
Tensors = dict[str, np.ndarray]


class Node:
    """A running node that listens. It may not have loaded a model yet."""

    def __init__(self, process: subprocess.Popen, ports: dict[str, int], model: str, log: pathlib.Path):
        self.process, self.model, self.log = process, model, log
        self.grpc_port, self.rest_port, self.admin_port = ports["grpc"], ports["rest"], ports["admin"]
        self.rest_url = f"http://127.0.0.1:{ports['rest']}"
        self.admin_url = f"http://127.0.0.1:{ports['admin']}"
        self.channel = grpc.insecure_channel(f"127.0.0.1:{ports['grpc']}")
        self.predictions = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.models = model_service_pb2_grpc.ModelServiceStub(self.channel)

    def request(self, inputs: Tensors) -> predict_pb2.PredictRequest:
        request = predict_pb2.PredictRequest()
        request.model_spec.name = self.model
        for name, value in inputs.items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
        return request

    def predict(self, inputs: Tensors) -> Tensors:
        response = self.predictions.Predict(self.request(inputs), timeout=CALL_SECONDS)
        return {name: tf.make_ndarray(value) for name, value in response.outputs.items()}

    def rest(self, path: str, body: str | None = None, method: str | None = None) -> tuple[int, str]:
        """Sends a request. Returns the HTTP status and the body of the answer."""
        request = urllib.request.Request(
            self.rest_url + path, data=None if body is None else body.encode(), method=method,
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=CALL_SECONDS) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def admin_json(self, path: str) -> dict:
        with urllib.request.urlopen(self.admin_url + path, timeout=CALL_SECONDS) as response:
            return json.loads(response.read())

    def rest_predict(self, body: dict) -> tuple[int, dict]:
        status, text = self.rest(f"/v1/models/{self.model}:predict", json.dumps(body))
        return status, json.loads(text)

    def statuses(self) -> list[get_model_status_pb2.ModelVersionStatus]:
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = self.model
        try:
            return list(self.models.GetModelStatus(request, timeout=CALL_SECONDS).model_version_status)
        except grpc.RpcError as error:
            if error.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE):
                return []
            raise

    def settled(self) -> get_model_status_pb2.ModelVersionStatus:
        """Waits until the only version of the model is served or rejected. Returns its status."""
        def final_status():
            for status in self.statuses():
                if status.state == State.AVAILABLE or status.status.error_code:
                    return status
            return None
        return _wait(final_status, self.process, self.log)

    def serving(self) -> "Node":
        status = self.settled()
        assert status.state == State.AVAILABLE, status
        return self

    def ready(self) -> "Node":
        """Waits until the administration listener reports that the node is ready. Works also if clients need TLS or a token."""
        def is_ready():
            try:
                with urllib.request.urlopen(self.admin_url + "/readyz", timeout=CALL_SECONDS):
                    return True
            except urllib.error.HTTPError:
                return None
        _wait(is_ready, self.process, self.log)
        return self

    def until(self, observe: Callable):
        """Waits until `observe` returns something other than None, and returns it."""
        return _wait(observe, self.process, self.log)

    def logs(self, text: str) -> None:
        """Waits until the log contains the text."""
        _wait(lambda: text in self.log.read_text() or None, self.process, self.log)

    def refusal(self) -> str:
        """Returns the error message of the only version of the model, which must not be served."""
        status = self.settled()
        assert status.state != State.AVAILABLE, f"{self.model} is served and should not be"
        return status.status.error_message


def _wait(observe: Callable, process: subprocess.Popen, log: pathlib.Path):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        ended = process.poll()
        if (seen := observe()) is not None:
            return seen
        assert ended is None, f"the node ended with {ended}:\n{log.read_text()[-4000:]}"
        time.sleep(0.02)  # Polls another process; the result does not depend on this interval.
    raise AssertionError(f"the expected state was not reached within {START_SECONDS} s:\n{log.read_text()[-4000:]}")


@contextlib.contextmanager
def running_node(scratch: pathlib.Path, model: str, base_path: pathlib.Path | None, *flags: str,
                 program: Sequence = (BINARY,)) -> Iterator[Node]:
    """Starts a node on free ports and terminates it at the end. The node must still run then, and exit with status 0 on SIGTERM."""
    port_file, log = scratch / "ports.json", scratch / "node.log"
    port_file.unlink(missing_ok=True)
    model_flags = [f"--model_name={model}", f"--model_base_path={base_path}"] if base_path else []
    command = [*program, *model_flags, "--port=0", "--rest_api_port=0",
               "--admin_port=0", f"--port_file={port_file}", *flags]
    # Without the log level that the tests set for their own TensorFlow.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_CPP_")}
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)
    try:
        ports = _wait(lambda: json.loads(port_file.read_text()) if port_file.exists() else None, process, log)
        node = Node(process, ports, model, log)
        with node.channel:
            yield node
        process.terminate()
        try:
            code = process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the node did not exit within {START_SECONDS} s of SIGTERM:\n{log.read_text()[-4000:]}") from None
        assert code == 0, f"the node ended with {code}:\n{log.read_text()[-4000:]}"
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
