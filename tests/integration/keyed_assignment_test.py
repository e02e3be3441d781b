"""Compares 100,000 keyed requests to each of two nodes with the independent router. Only one node holds the candidate.

Needs grpcio and the messages of tensorflow-serving-api; everything else is in the standard library.
"""

import asyncio
import collections
import pathlib
import sys
import unittest

import grpc
from tensorflow_serving.apis import predict_pb2

from harness import ROOT, Installation, wait_for
from local_test import half_plus

sys.path.insert(0, str(ROOT / "tests" / "judge"))
from router_reference import gets_candidate  # noqa: E402

KEYS_PER_NODE = 100_000
WEIGHT_PERCENT = 30
CALLS_IN_FLIGHT = 64
CANDIDATE = 2
ANSWER_OF_VERSION = {3.0: 1, 4.0: 2}  # half_plus: x/2 + 2 and x/2 + 3 at x = 2.


def predict_bytes() -> bytes:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "half"
    tensor = request.inputs["x"]
    tensor.dtype = 1
    tensor.tensor_shape.dim.add(size=1)
    tensor.float_val.append(2.0)
    return request.SerializeToString()


class Tally:
    """Counts the requests of each node and collects the answers that differ from those of the independent router."""

    def __init__(self, salt: str):
        self.salt = salt
        self.next_key = 0
        self.per_node = collections.Counter()
        self.candidates = 0
        self.wrong = []

    def done(self) -> bool:
        return len(self.per_node) == 2 and min(self.per_node.values()) >= KEYS_PER_NODE

    def take_key(self) -> str:
        self.next_key += 1
        return f"user-{self.next_key}"

    def add(self, key: str, node: str, version: int):
        self.per_node[node] += 1
        candidate = version == CANDIDATE
        self.candidates += candidate
        if candidate != gets_candidate(self.salt, key, WEIGHT_PERCENT * 100):
            self.wrong.append((key, node, version))


async def ask(address: str, body: bytes, tally: Tally):
    """One client: its own connection, one request after the other, until each node has received KEYS_PER_NODE requests."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict",
                                      response_deserializer=predict_pb2.PredictResponse.FromString)
        while not tally.done():
            key = tally.take_key()
            call = predict(body, metadata=(("x-user-id", key),), timeout=30)
            answer = await call
            node = dict(await call.initial_metadata())["x-longshore-node"]
            version = answer.model_spec.version.value
            if ANSWER_OF_VERSION[answer.outputs["y"].float_val[0]] != version:
                tally.wrong.append((key, node, "another version's numbers"))
            tally.add(key, node, version)


async def ask_all(address: str, tally: Tally):
    body = predict_bytes()
    await asyncio.gather(*[ask(address, body, tally) for _ in range(CALLS_IN_FLIGHT)])


def nodes_that_hold(installation: Installation, version: int) -> list[str]:
    return [node["node"] for node in installation.status("half").get("nodes", []) if f"{version}:Ready" in node["state"]]


class KeyedAssignment(unittest.TestCase):
    def wait_for_the_split(self, installation: Installation, salt: str):
        """Waits until both nodes route a key of the candidate to it: the status is written before the nodes receive the split."""
        key = next(key for key in map(str, range(1000)) if gets_candidate(salt, key, WEIGHT_PERCENT * 100))
        seen = set()

        async def ask_once():
            async with grpc.aio.insecure_channel(installation.fleet_status()["grpcAddress"],
                                                 options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
                predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict",
                                              response_deserializer=predict_pb2.PredictResponse.FromString)
                call = predict(predict_bytes(), metadata=(("x-user-id", key),), timeout=30)
                if (await call).model_spec.version.value == CANDIDATE:
                    seen.add(dict(await call.initial_metadata())["x-longshore-node"])

        def both_split():
            asyncio.run(ask_once())
            return len(seen) == 2

        wait_for("both nodes to split", both_split)

    def check_the_bins(self, installation: Installation, tally: Tally):
        """The last look at the bins is at more than half of the candidate's requests. Those that were forwarded count, too."""
        def numbers():
            return installation.status("half")["rollout"]["verdict"]["numbers"]

        wait_for("a look at the bins", lambda: numbers().get("binsCandidateRequests", 0) > tally.candidates / 2)
        self.assertEqual((numbers()["binsOfCandidate"], numbers()["binsOfStable"]), (60, 140))
        self.assertEqual(numbers()["binsCandidateBad"], 0)

    def test_every_node_assigns_keys_like_the_independent_router(self):
        rollout = {"hold": "1h", "requestsMin": 1, "assignment": {"by": "Header", "key": "x-user-id"},
                   "steps": [{"weight": WEIGHT_PERCENT}], "analysis": {"latency": {"tolerance": 10}}}
        with Installation() as it:
            it.apply_fleet(nodes=2)
            source = half_plus(pathlib.Path(it.dir))
            it.apply_model("half", source, version=1, rollout=rollout)
            it.start_controller()
            it.wait_for_stable("half", 1)
            it.wait_for_ready_nodes(2)
            it.apply_model("half", source, version=CANDIDATE, rollout=rollout)
            wait_for("the canary's step", lambda: it.phase("half") == "Step")
            wait_for("one node with the candidate", lambda: len(nodes_that_hold(it, CANDIDATE)) == 1)
            self.wait_for_the_split(it, it.status("half")["rollout"]["id"])
            tally = Tally(it.status("half")["rollout"]["id"])
            asyncio.run(asyncio.wait_for(ask_all(it.fleet_status()["grpcAddress"], tally), timeout=600))
            self.assertEqual(len(nodes_that_hold(it, CANDIDATE)), 1)
            print(f"keyed requests per node {dict(tally.per_node)}, {tally.candidates} to the candidate, "
                  f"{len(tally.wrong)} differ from the independent router")
            self.assertEqual(it.phase("half"), "Step", it.status("half")["rollout"].get("verdict"))
            self.check_the_bins(it, tally)
        self.assertEqual(tally.wrong[:10], [])


if __name__ == "__main__":
    unittest.main()
