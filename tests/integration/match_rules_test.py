"""Compares 100,000 requests to a fleet of five nodes with match rules as an independent program reads them.

Rules and requests are drawn from a seed, which LONGSHORE_SEED sets. LONGSHORE_REQUESTS sets another number of requests. Some nodes
hold no version of the model, so they forward each request. Needs openssl, grpcio and the messages of tensorflow-serving-api; everything
else is in the standard library.
"""

import asyncio
import collections
import os
import pathlib
import random
import sys
import unittest

import grpc
from tensorflow_serving.apis import predict_pb2

from harness import ROOT, Installation, wait_for
from keyed_assignment_test import nodes_that_hold, predict_bytes
from local_test import half_plus

sys.path[:0] = [str(ROOT / "tests" / "judge"), str(ROOT / "tests" / "conformance")]
from issuer import Issuer, write_keys  # noqa: E402
from match_reference import Sent, target  # noqa: E402
from router_reference import gets_candidate  # noqa: E402

SEED = int(os.environ.get("LONGSHORE_SEED", "7"))
REQUESTS = int(os.environ.get("LONGSHORE_REQUESTS", "100000"))
RULE_SETS = 4
NODES = 5
REPLICAS = 2
WEIGHT_PERCENT = 60  # Two nodes must hold the candidate. With one, stable answers a request if the hop to that node fails.
CALLS_IN_FLIGHT = 32
PER_SECOND_MIN = 50  # Slower answers are an error.
CANDIDATE = 2
PEER = "peer-token-0123456789"
TOKENS = {"web": "web-token-0123456789", "nightly-batch": "batch-token-0123456789", "mobile": "mobile-token-0123456789"}
WORDS = ["a", "b", "ml", "ml-7", "team-ml", "qa", "x", "7", "true", "a@b.org", ""]
PATTERNS = ["ml(-[0-9]+)?", "[a-c]+", ".*ml.*", "(a|b|qa)", "x?", r"\w+@\w+\.org", "(a+)+b", "team-.*|7"]
HEADERS, COOKIES, CLAIMS = ["x-team", "x-tier", "user-agent-hint"], ["beta", "tier"], ["team", "groups", "level", "admin"]


def draw_operator(draw: random.Random, claim: bool = False) -> dict:
    word = draw.choice(WORDS[:-1])
    choices = [{"exact": word}, {"prefix": word}, {"suffix": word}, {"in": draw.sample(WORDS[:-1], 3)}, {"present": True},
               {"regex": draw.choice(PATTERNS)}]
    return draw.choice(choices + [{"contains": word}] * 3 * claim)


def draw_rule(draw: random.Random, number: int) -> dict:
    match = {}
    for _ in range(draw.randint(1, 3)):
        source, names = draw.choice([("headers", HEADERS), ("cookies", COOKIES), ("claims", CLAIMS), ("clients", None)])
        if names is None:
            match["clients"] = draw.sample(sorted(TOKENS), draw.randint(1, 2))
        else:
            name = draw.choice(names)
            match.setdefault(source, {})[name.upper() if source == "headers" and draw.random() < 0.5 else name] = \
                draw_operator(draw, source == "claims")
    headers = match.get("headers", {})
    match |= {"headers": {name.lower(): operator for name, operator in headers.items()}} if len(headers) > 1 else {}
    return {"name": f"r{number}", "match": match, "to": draw.choice(["Candidate", "Stable"])}


def marks(number: int) -> list[dict]:
    """Two rules by which the requests of wait_for_the_rules recognise the rules with this number."""
    return [{"name": version.lower(), "match": {"headers": {"x-mark": {"exact": f"{version.lower()}-{number}"}}}, "to": version}
            for version in ("Candidate", "Stable")]


def draw_claims(draw: random.Random) -> dict:
    claims = {"team": draw.choice(WORDS), "groups": draw.sample(WORDS, 2) + [draw.randint(0, 9)], "level": draw.randint(0, 9),
              "admin": draw.random() < 0.5}
    return {name: value for name, value in claims.items() if draw.random() < 0.7}


class Requests:
    """Draws requests, and counts those that a node answered with another version than the independent program expects."""

    def __init__(self, draw: random.Random, identities: list[tuple[str, Sent]], salt: str):
        self.draw, self.identities, self.salt = draw, identities, salt
        self.routes = []
        self.left = 0
        self.per_node = collections.Counter()
        self.per_target = collections.Counter()
        self.wrong = []

    def take(self) -> Sent:
        draw, headers = self.draw, []
        for name in HEADERS:
            headers += [(name, draw.choice(WORDS)) for _ in range(draw.choice([0, 1, 1, 2]))]
        for _ in range(draw.choice([0, 1, 1, 2])):
            pairs = [f"{draw.choice(COOKIES)}={draw.choice(WORDS)}" for _ in range(draw.randint(1, 3))]
            headers.append(("cookie", draw.choice(["; ", ";", " ; "]).join(pairs)))
        token, identity = draw.choice(self.identities)
        headers += [("x-user-id", f"user-{draw.randint(0, 9999)}"), ("authorization", f"Bearer {token}")]
        return Sent(headers, identity.client, identity.claims)

    def expected(self, sent: Sent) -> int:
        chosen = target(self.routes, sent)
        self.per_target[chosen] += 1
        if chosen is None:
            chosen = "Candidate" if gets_candidate(self.salt, dict(sent.headers)["x-user-id"], WEIGHT_PERCENT * 100) else "Stable"
        return CANDIDATE if chosen == "Candidate" else 1


async def ask(address: str, body: bytes, requests: Requests):
    """One client: its own connection, one request after the other."""
    async with grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict",
                                      response_deserializer=predict_pb2.PredictResponse.FromString)
        while requests.left > 0:
            requests.left -= 1
            sent = requests.take()
            call = predict(body, metadata=sent.headers, timeout=60)
            version = (await call).model_spec.version.value
            node = dict(await call.initial_metadata())["x-longshore-node"]
            requests.per_node[node] += 1
            if version != requests.expected(sent):
                requests.wrong.append((node, version, sent, requests.routes, f"{requests.left} requests before the last"))


async def ask_all(address: str, requests: Requests):
    await asyncio.gather(*[ask(address, predict_bytes(), requests) for _ in range(CALLS_IN_FLIGHT)])


class MatchRules(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(pathlib.Path(self.it.dir))

    def apply(self, version: int, routes: list[dict]):
        rollout = {"hold": "1h", "requestsMin": 1, "assignment": {"by": "Header", "key": "x-user-id"},
                   "steps": [{"weight": WEIGHT_PERCENT}], "analysis": {"latency": {"tolerance": 10}}, "routes": routes}
        self.it.apply_model("half", self.source, version=version, rollout=rollout, extra=f"  replicas: {REPLICAS}\n")

    def flags(self) -> list[str]:
        folder = self.it.dir
        (folder / "clients.txt").write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
        (folder / "peers.txt").write_text(f"fleet {PEER}\n")
        return [f"--node_flag={flag}" for flag in (
            f"auth_tokens_file={folder}/clients.txt", f"peer_tokens_file={folder}/peers.txt", f"jwt_jwks_file={folder}/keys.json",
            "jwt_issuer=login", "jwt_audience=longshore")]

    def wait_for_the_rules(self, number: int):
        """Waits until each node applies the rules that begin with marks(number).

        The marks of other rules make no difference between the two requests, because they come from one client and one user.
        """
        answers = collections.defaultdict(lambda: None)

        async def ask_twice():
            async with grpc.aio.insecure_channel(self.it.fleet_status()["grpcAddress"],
                                                 options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
                predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict",
                                              response_deserializer=predict_pb2.PredictResponse.FromString)
                versions = []
                for mark in ("candidate", "stable"):
                    call = predict(predict_bytes(), timeout=30, metadata=(
                        ("x-mark", f"{mark}-{number}"), ("x-user-id", "u"), ("authorization", f"Bearer {TOKENS['web']}")))
                    versions.append((await call).model_spec.version.value)
                answers[dict(await call.initial_metadata())["x-longshore-node"]] = tuple(versions)

        def all_apply_them():
            asyncio.run(ask_twice())
            return len(answers) == NODES and set(answers.values()) == {(CANDIDATE, 1)}

        wait_for("all nodes to apply the rules", all_apply_them, seen=lambda: dict(answers))

    def start(self):
        it = self.it
        it.apply_fleet(nodes=NODES)
        self.apply(1, [{"name": "r", "match": {"clients": ["nobody"]}, "to": "Stable"}])
        it.start_controller(flags=self.flags())
        it.wait_for_stable("half", 1)
        it.wait_for_ready_nodes(NODES)
        self.apply(CANDIDATE, [{"name": "r", "match": {"clients": ["nobody"]}, "to": "Stable"}])
        wait_for("the canary's step", lambda: it.phase("half") == "Step", seen=lambda: it.status("half"))

    def test_every_node_applies_the_rules_like_the_independent_program(self):
        draw = random.Random(SEED)
        issuer = Issuer(self.it.dir)
        write_keys(self.it.dir / "keys.json", issuer)
        identities = [(token, Sent([], name)) for name, token in TOKENS.items()]
        identities += [(issuer.token(claims), Sent([], "", claims)) for claims in (draw_claims(draw) for _ in range(12))]
        self.start()
        requests = Requests(draw, identities, self.it.status("half")["rollout"]["id"])
        for number in range(RULE_SETS):
            requests.routes = marks(number) + [draw_rule(draw, each) for each in range(14)]
            self.apply(CANDIDATE, requests.routes)
            self.wait_for_the_rules(number)
            requests.left = REQUESTS // RULE_SETS
            asyncio.run(asyncio.wait_for(ask_all(self.it.fleet_status()["grpcAddress"], requests), timeout=max(900, requests.left / PER_SECOND_MIN)))
            print(f"rules {number}: {requests.per_node.total()} requests so far, {len(requests.wrong)} of them not as expected", flush=True)
            self.assertEqual(requests.wrong[:3], [], f"{len(requests.wrong)} requests, seed {SEED}, rules {number}")
        print(f"seed {SEED}: requests per node {dict(requests.per_node)}, by rule {dict(requests.per_target)}, all as expected")
        self.assertEqual(len(requests.per_node), NODES)
        self.assertGreater(min(requests.per_target[each] for each in ("Candidate", "Stable", None)), REQUESTS // 20)
        self.assertEqual(self.it.phase("half"), "Step", self.it.status("half")["rollout"].get("verdict"))
        holders = {version: set(nodes_that_hold(self.it, version)) for version in (1, CANDIDATE)}
        self.assertIn(len(holders[CANDIDATE]), range(1, NODES), holders)
        self.assertLess(len(holders[1] | holders[CANDIDATE]), NODES, holders)


if __name__ == "__main__":
    unittest.main()
