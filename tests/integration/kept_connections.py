"""Clients that keep their connections while a fleet grows.

A client has its own connection: a channel of grpcio with a subchannel pool of its own, or an HTTP/1.1 connection that is kept alive.
"""

import http.client
import json
import threading
import time

import grpc
from tensorflow_serving.apis import predict_pb2

from harness import MODELS, WAIT_MAX_S

NODES = 4
PREDICT = "/tensorflow.serving.PredictionService/Predict"


class GrpcClient:
    NAME = "gRPC"

    def __init__(self, installation):
        self.channel = grpc.insecure_channel(installation.fleet_status()["grpcAddress"],
                                             options=[("grpc.use_local_subchannel_pool", 1)])
        self.predict = self.channel.unary_unary(PREDICT, request_serializer=predict_pb2.PredictRequest.SerializeToString,
                                                response_deserializer=predict_pb2.PredictResponse.FromString)
        self.request = predict_pb2.PredictRequest()
        self.request.model_spec.name = "half"
        tensor = self.request.inputs["x"]
        tensor.dtype = 1
        tensor.tensor_shape.dim.add(size=1)
        tensor.float_val.append(2.0)

    def ask(self):
        """Returns the name of the node that answers."""
        _, call = self.predict.with_call(self.request, timeout=WAIT_MAX_S)
        return dict(call.initial_metadata())["x-longshore-node"]

    def close(self):
        self.channel.close()


class RestClient:
    NAME = "REST"
    BODY = json.dumps({"instances": [2.0]})

    def __init__(self, installation):
        self.connection = http.client.HTTPConnection(installation.fleet_status()["restAddress"], timeout=WAIT_MAX_S)
        self.asked_to_leave_by = set()  # Names of the nodes whose answers said "Connection: close".

    def ask(self):
        # http.client connects again by itself after an answer with "Connection: close".
        try:
            self.connection.request("POST", "/v1/models/half:predict", self.BODY)
            answer = self.connection.getresponse()
        except OSError:
            self.connection.close()  # So that the next request connects again.
            raise
        body = answer.read()
        assert answer.status == 200, body
        node = answer.headers["x-longshore-node"]
        if answer.will_close:
            self.asked_to_leave_by.add(node)
        return node

    def close(self):
        self.connection.close()


class Load:
    """Clients that ask one request after the other, each on one connection."""

    def __init__(self, kind, installation, count):
        self.answers = []  # (time, seconds, node); append is atomic.
        self.errors = []
        self.ending = threading.Event()
        self.kind = kind
        self.clients = [kind(installation) for _ in range(count)]
        self.threads = [threading.Thread(target=self.run, args=(client,)) for client in self.clients]

    def run(self, client):
        while not self.ending.is_set():
            began = time.monotonic()
            try:
                node = client.ask()
                self.answers.append((time.monotonic(), time.monotonic() - began, node))
            except Exception as error:  # Any exception means that a user got no answer.
                self.errors.append(repr(error))
            self.ending.wait(0.02)
        client.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_failure):
        self.ending.set()
        for thread in self.threads:
            thread.join()

    def counts(self, since, until=float("inf")):
        """Returns node -> number of answers in this time."""
        counts = {}
        for at, _, node in list(self.answers):
            if since <= at < until:
                counts[node] = counts.get(node, 0) + 1
        return counts

    def p99_ms(self, since, until):
        seconds = sorted(took for at, took, _ in list(self.answers) if since <= at < until)
        return 1000 * seconds[len(seconds) * 99 // 100] if seconds else None

    def first_answers(self, since):
        """Returns node -> seconds from `since` to its first answer."""
        first = {}
        for at, _, node in list(self.answers):
            if at >= since:
                first.setdefault(node, at - since)
        return first

    def is_balanced(self):
        """Whether each node has answered about half of the mean in the last second, or more."""
        counts = self.counts(time.monotonic() - 1)
        return len(counts) == NODES and min(counts.values()) >= 0.45 * sum(counts.values()) / NODES


def apply_fleet(installation, nodes, connection_age_max):
    installation.write_manifest("fleet.yaml", f"""apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {{name: cpu}}
spec:
  replicas: {{min: {nodes}, max: {nodes}}}
  ports: {{grpc: 0, rest: 0}}
  connectionAgeMax: {connection_age_max}
""")


def serve_on_one_node(installation, connection_age_max, programs=None):
    apply_fleet(installation, 1, connection_age_max)
    installation.apply_model("half", MODELS / "half_plus_two_tf2", 1, rollout={"hold": "100ms"})
    installation.start_controller(programs=programs)
    installation.wait_for_stable("half", 1)
    installation.wait_for_answers("half", {"instances": [2.0]})


def grow(installation, connection_age_max):
    """Scales the fleet to NODES. Returns the time at which all nodes were ready."""
    apply_fleet(installation, NODES, connection_age_max)
    installation.wait_for_ready_nodes(NODES)
    return time.monotonic()
