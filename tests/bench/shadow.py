"""./dev bench shadow: which faults a Shadow rollout finds before the candidate gets any weight, whether it blames copies, and what users feel.

The programs are real: a controller, a node, and SavedModels that TensorFlow wrote (tests/models/mutants.py). Three parts:

  faults   each model with a fault becomes the candidate of its own Model; requests are sent until the rollout has found it or passed it
  copies   identical copies of the models, also of one whose answers are random, are reloaded as candidates; none may be blamed
  users    the times of users' requests at 80 % load of a processor, with and without pairs, and with and without Envoy's mirror (mirror.py)
"""

import argparse
import collections
import contextlib
import itertools
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / folder) for folder in ("integration", "models", "bench")]

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

import mutants
from harness import Installation, wait_for
from mirror import users
from processes import say
from rows import add_arguments, finish, row

PREDICT = "/tensorflow.serving.PredictionService/Predict"
REQUESTS_OF_BASE = 400
ROWS_MAX = 50
SENDERS = 6
MODELS_AT_ONCE = 12
FAULT_MAX_S = 300


def serialized_requests(base: str) -> list[bytes]:
    """Requests without the name of a model. Serialized messages can be joined, so the name is added when one is sent."""
    random = np.random.default_rng(mutants.SEED)
    requests = []
    for _ in range(REQUESTS_OF_BASE):
        request = predict_pb2.PredictRequest()
        for name, values in mutants.inputs(base, int(random.integers(1, ROWS_MAX + 1)), random).items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
        requests.append(request.SerializeToString())
    return requests


def name_of(model: str) -> bytes:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    return request.SerializeToString()


class Users:
    """Sends requests to the models of `targets` (name -> base) in turn, on several threads, until `stop`."""

    def __init__(self, address: str):
        self.targets: dict[str, str] = {}
        self.failed = collections.Counter()
        self.sent = 0
        self.stopping = False
        self.requests = {base: serialized_requests(base) for base in mutants.BASES}
        self.threads = [threading.Thread(target=self._send, args=(address, i), daemon=True) for i in range(SENDERS)]
        for thread in self.threads:
            thread.start()

    def _send(self, address: str, first: int) -> None:
        with grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            predict = channel.unary_unary(PREDICT)
            for i in itertools.count(first, SENDERS):
                targets = list(self.targets.items())
                if self.stopping:
                    return
                if not targets:
                    time.sleep(0.01)
                    continue
                model, base = targets[i % len(targets)]
                self.sent += 1
                try:
                    predict(name_of(model) + self.requests[base][i // len(targets) % REQUESTS_OF_BASE], timeout=10)
                except grpc.RpcError as error:
                    self.failed[f"{model}: {error.code().name}: {error.details()}"[:200]] += 1

    def stop(self) -> None:
        self.stopping = True
        for thread in self.threads:
            thread.join()


@contextlib.contextmanager
def installation():
    with Installation() as it:
        it.write_manifest("fleet.yaml", """apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {name: cpu}
spec: {replicas: {min: 1, max: 1}, ports: {grpc: 0, rest: 0}}
""")
        yield it


def shadow_rollout(base: str, times: bool = True, **shadow) -> dict:
    """`times`: whether run times are compared, too."""
    return {"strategy": "Shadow", "keepWarm": "0s", "analysis": {"latency": {"enabled": times}},
            "shadow": {"share": 1, "budget": 1, "for": "1s", "compare": mutants.RULES[base], **shadow}}


def serve_first(it: Installation, sources: dict[str, tuple[str, pathlib.Path]], rollout) -> Users:
    for name, (base, source) in sources.items():
        it.apply_model(name, source, 1, rollout=rollout(base))
    it.start_controller()
    for name in sources:
        wait_for(f"{name} to serve", lambda name=name: it.status(name).get("stableVersion") == 1, timeout_s=120, seen=lambda: it.status(name))
    return Users(it.fleet_status()["grpcAddress"])


class Rollout:
    """What became of a candidate."""

    def __init__(self, status: dict, candidate: int):
        rollout = status.get("rollout", {})
        mine = rollout.get("candidate") == candidate
        self.verdict = rollout.get("verdict", {}) if mine else {}
        self.pairs = self.verdict.get("numbers", {}).get("pairs", 0)
        self.weight = rollout.get("weight", 0)
        self.blamed = next((f for f in status.get("failed", []) if f["version"] == candidate and f["reason"] not in ("Superseded", "SpecChanged")), None)
        self.passed = mine and rollout.get("pausedReason") == "ShadowPassed"
        self.inconclusive = mine and self.verdict.get("result") == "Inconclusive"

    def ended(self) -> bool:
        return bool(self.blamed or self.passed or self.inconclusive)


def run_faults(it: Installation, folder: pathlib.Path, names: list[str]) -> tuple[dict[str, Rollout], Users]:
    """Returns what became of each mutant, and the users. Some of them run at a time, so that each gets many requests."""
    sources = {}
    models = {name: f"m{i:02}" for i, name in enumerate(names)}
    for base, variant in mutants.BASES.items():
        variant.save(folder / base)
    for name in names:
        variant = mutants.MUTANTS[name]
        source = folder / models[name]
        shutil.copytree(folder / variant.base, source / "1", copy_function=os.link)
        variant.save(source / "2")
        sources[models[name]] = (variant.base, source)
    users = serve_first(it, sources, shadow_rollout)
    ended, waiting, running = {}, list(names), {}
    while waiting or running:
        while waiting and len(running) < MODELS_AT_ONCE:
            name = waiting.pop(0)
            base, source = sources[models[name]]
            # A fault must be found by the answers, not because an additional op of this tiny model takes a few microseconds.
            it.apply_model(models[name], source, 2, rollout=shadow_rollout(base, times="slower" in name))
            users.targets[models[name]] = base
            running[name] = time.monotonic()
        for name, began in list(running.items()):
            rollout = Rollout(it.status(models[name]), 2)
            if not rollout.ended() and time.monotonic() - began < FAULT_MAX_S:
                continue
            ended[name] = rollout
            del running[name], users.targets[models[name]]
            reason = rollout.blamed["reason"] if rollout.blamed else "NOT FOUND"
            message = rollout.blamed["message"] if rollout.blamed else rollout.verdict.get("message", "")
            say(f"  {name}: {reason} after {time.monotonic() - began:.0f} s, {rollout.pairs:.0f} pairs: {message}")
        time.sleep(0.05)
    users.stop()
    say(f"  {users.sent} requests, of which {sum(users.failed.values())} failed: {dict(users.failed.most_common(3))}")
    return ended, users


def faults(arguments) -> list[dict]:
    names = [name for name in mutants.MUTANTS if arguments.only in name]
    say(f"{len(names)} models with a fault")
    with tempfile.TemporaryDirectory() as folder, installation() as it:
        ended, users = run_faults(it, pathlib.Path(folder), names)
    found = [name for name, rollout in ended.items() if rollout.blamed]
    weight = max(rollout.weight for rollout in ended.values())
    return [row("kinds of faults that are found before the candidate gets any weight", "all kinds", len(found), len(names), ">= 1"),
            row("largest weight of such a candidate, in percent", "", weight, 0, "<= 0"),
            row("requests of users that failed meanwhile", "", sum(users.failed.values()), 0, "<= 0")]


def copies(arguments) -> list[dict]:
    """Each Model gets one copy after the other as its candidate. The next one supersedes a copy that has passed."""
    variants = {**mutants.BASES, "random": mutants.RANDOM}
    models = {f"{kind}{i}": kind for i in range(MODELS_AT_ONCE // len(variants)) for kind in variants}
    versions = -(-arguments.copies // len(models))
    say(f"{len(models) * versions} reloads of identical copies")
    blamed, reloads, pairs = [], 0, 0

    def rollout(base: str) -> dict:
        return {**shadow_rollout(base, proof="Sampled"), "requestsMin": arguments.pairs}

    with tempfile.TemporaryDirectory() as name, installation() as it:
        folder = pathlib.Path(name)
        for kind, variant in variants.items():
            variant.save(folder / "of" / kind)
        sources = {}
        for model, kind in models.items():
            for version in range(1, versions + 2):
                shutil.copytree(folder / "of" / kind, folder / model / str(version), copy_function=os.link)
            sources[model] = (variants[kind].base, folder / model)
        users = serve_first(it, sources, rollout)
        users.targets.update({model: base for model, (base, _) in sources.items()})
        at = dict.fromkeys(models, 1)
        while at:
            for model in list(at):
                ended = Rollout(it.status(model), at[model]) if at[model] > 1 else None
                if ended is not None and not ended.ended():
                    continue
                if ended is not None:
                    reloads += 1
                    pairs += ended.pairs
                    if not ended.passed:
                        blamed.append(f"{model} version {at[model]}: {ended.blamed or ended.verdict}")
                        say(f"  {blamed[-1]}")
                    if reloads % 50 == 0:
                        say(f"  {reloads} reloads, {len(blamed)} blamed")
                at[model] += 1
                if at[model] > versions + 1:
                    del at[model], users.targets[model]
                    continue
                it.apply_model(model, sources[model][1], at[model], rollout=rollout(sources[model][0]))
            time.sleep(0.05)
        users.stop()
    say(f"  {reloads} reloads, {pairs:.0f} pairs, {sum(users.failed.values())} of {users.sent} requests failed: {dict(users.failed.most_common(3))}")
    return [row(f"identical copies that are blamed, of {reloads} reloads", "", len(blamed), 0, "<= 0")]


PARTS = {"faults": faults, "copies": copies, "users": users}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench shadow", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="the parts to run [all]")
    parser.add_argument("--only", default="", metavar="TEXT", help="of the faults, only those whose names contain TEXT")
    parser.add_argument("--copies", type=int, default=1000, help="reloads of identical copies [1000]")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of the part users, each of four times 20 s [9]")
    parser.add_argument("--pairs", type=int, default=200, help="pairs of each reload [200]")
    add_arguments(parser)
    arguments = parser.parse_args()
    return finish([made for part in arguments.parts for made in PARTS[part](arguments)], arguments)


if __name__ == "__main__":
    sys.exit(main())
