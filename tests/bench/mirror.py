"""What shadowing costs the users of a busy processor: pairs in one node, compared with Envoy's mirror and a second node.

One run takes some milliseconds of a processor. All nodes share this processor, and the users' requests take 80 % of it. Clients, Envoy and
the controller have another one. The measurement goes by turns: with and without pairs, with and without a mirror; each round begins with
the other turn. The turns of one round have the same arrivals, so that they differ by the shadow only.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.request

import numpy as np
import tensorflow as tf

from harness import Installation, wait_for
from processes import BIN, CLIENT_CPU, SERVER_CPU, WAIT_SECONDS, client, node, say
from rows import failed, row
from tail import pooled_p99_ms, ratio_of_pooled_p99

WIDTH, ROWS, LAYERS = 512, 16, 60
LOAD = 0.8
SEGMENT_S = 20
SETTLE_S = 2  # Until the node has the change, and the shadow runs of the turn before have ended.
MODEL = "deep"
ENVOY = os.environ.get("LONGSHORE_ENVOY", "")


class Deep(tf.Module):
    """y: x [N, WIDTH], float32, multiplied by one orthogonal matrix LAYERS times, each time followed by ReLU."""

    def __init__(self):
        super().__init__()
        matrix = np.random.default_rng(1).standard_normal((WIDTH, WIDTH))
        self.matrix = tf.Variable(1.4 * np.linalg.qr(matrix)[0], dtype=tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([None, WIDTH], tf.float32, name="x")])
    def serve(self, x):
        for _ in range(LAYERS):
            x = tf.nn.relu(x @ self.matrix)
        return {"y": x}


def save_two_versions(folder: pathlib.Path) -> pathlib.Path:
    deep = Deep()
    tf.saved_model.save(deep, str(folder / "1"), signatures=deep.serve)
    shutil.copytree(folder / "1", folder / "2", copy_function=os.link)
    return folder


def requests_per_second(address: str) -> float:
    """Measures how many requests the node answers per second if some always wait."""
    return client(BIN / "longshore-bench", "throughput", f"--grpc={address}", "--outstanding=4", "--seconds=3", f"--model={MODEL}", "--input=x",
                  f"--shape={ROWS},{WIDTH}")["per_second"]


def segment(address: str, rate: float, seed: int) -> dict:
    """Sends requests for SEGMENT_S. Returns the counts of longshore-load. The same seed gives the same arrivals."""
    return client(BIN / "longshore-load", "--json", f"--grpc={address}", f"--model={MODEL}", "--input=x", "--shape", ROWS, WIDTH, f"--rate={rate}",
                  f"--duration_s={SEGMENT_S}", f"--seed={seed}", statuses=(0, 1))  # 1: requests failed.


class Turns:
    """The segments of two turns, "with" and "without" a shadow."""

    def __init__(self, rate: float):
        self.rate = rate
        self.segments = {"with": [], "without": []}

    def order(self) -> list[str]:
        """Returns the kinds in the order of the next round."""
        return list(self.segments)[::1 - 2 * (len(self.segments["with"]) % 2)]

    def take(self, kind: str, address: str) -> None:
        taken = segment(address, self.rate, 1 + len(self.segments[kind]))
        self.segments[kind].append(taken)
        say(f"  {kind}: p99 {taken['p99_ms']:.1f} ms, {taken['failed']} of {taken['sent']} failed")

    def failed(self) -> int:
        return sum(taken["failed"] for both in self.segments.values() for taken in both)


class Pairs:
    """A node with both versions, whose controller changes the share of the requests that become pairs."""

    def __init__(self, it: Installation, source: pathlib.Path):
        self.it, self.source = it, source
        self.count = {"with": 0, "without": 0}
        it.apply_model(MODEL, source, 1, rollout=self._rollout(1))
        it.start_controller()
        it.wait_for_stable(MODEL, 1)
        self.address = it.fleet_status()["grpcAddress"]
        self.rate = LOAD * requests_per_second(self.address)
        it.apply_model(MODEL, source, 2, rollout=self._rollout(1))
        wait_for("the phase Shadow", lambda: it.phase(MODEL) == "Shadow", seen=lambda: it.status(MODEL))
        self.turns = Turns(self.rate)

    def _rollout(self, share: float) -> dict:
        return {"strategy": "Shadow", "keepWarm": "0s",
                "shadow": {"share": share, "budget": 0.1, "for": "2h", "compare": [{"output": "y", "measure": "Equal", "rows": 0.99}]}}

    def _pairs(self) -> float:
        return self.it.status(MODEL).get("rollout", {}).get("verdict", {}).get("numbers", {}).get("pairs", 0)

    def take(self, kind: str) -> None:
        self.it.apply_model(MODEL, self.source, 2, rollout=self._rollout(1 if kind == "with" else 1e-4))
        time.sleep(SETTLE_S)
        before = self._pairs()
        self.turns.take(kind, self.address)
        self.count[kind] += self._pairs() - before

    def share(self) -> float:
        """Returns the share of the users' requests of the turns "with" that became pairs."""
        return self.count["with"] / max(1, sum(taken["sent"] for taken in self.turns.segments["with"]))


@contextlib.contextmanager
def pairs_of(source: pathlib.Path, folder: pathlib.Path):
    pinned = folder / "node"
    pinned.write_text(f'#!/bin/sh\nexec taskset -c {SERVER_CPU} "{BIN}/longshore-node" "$@"\n')
    pinned.chmod(0o755)
    with Installation() as it:
        it.node_binary = pinned
        it.write_manifest("fleet.yaml", """apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {name: cpu}
spec: {replicas: {min: 1, max: 1}, ports: {grpc: 0, rest: 0}, engine: {concurrentRuns: 1}}
""")
        yield Pairs(it, source)


def cluster_of(name: str, port: int) -> dict:
    endpoint = {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}}}
    http2 = {"@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions", "explicit_http_config": {"http2_protocol_options": {}}}
    return {"name": name, "connect_timeout": "5s", "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
            "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2}}


def listener_of(name: str, mirrors: list[dict]) -> dict:
    route = {"match": {"prefix": "/"}, "route": {"cluster": "stable", "request_mirror_policies": mirrors}}
    router = {"name": "envoy.filters.http.router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}
    manager = {"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": name,
               "codec_type": "HTTP2", "http_filters": [router], "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]}}
    filters = [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]
    return {"name": name, "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}, "filter_chains": [{"filters": filters}]}


def envoy_config(stable: int, candidate: int, share: float) -> dict:
    """Two listeners: "with" also sends a share of the requests to the candidate and drops the answers, "without" does not.

    https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto, RequestMirrorPolicy
    """
    fraction = {"default_value": {"numerator": round(share * 1e6), "denominator": "MILLION"}}
    mirror = {"cluster": "candidate", "runtime_fraction": fraction}
    return {"admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
            "static_resources": {"listeners": [listener_of("with", [mirror]), listener_of("without", [])],
                                 "clusters": [cluster_of("stable", stable), cluster_of("candidate", candidate)]}}


def listening_ports(admin: str) -> dict[str, int]:
    with urllib.request.urlopen(f"http://{admin}/listeners?format=json", timeout=WAIT_SECONDS) as answer:
        listeners = json.load(answer)["listener_statuses"]
    return {one["name"]: one["local_address"]["socket_address"]["port_value"] for one in listeners}


@contextlib.contextmanager
def envoy(folder: pathlib.Path, stable: int, candidate: int, share: float):
    """Runs Envoy, and yields the address of each listener."""
    admin = folder / "envoy-admin"
    (folder / "envoy.json").write_text(json.dumps(envoy_config(stable, candidate, share)))
    with open(folder / "envoy.log", "wb") as log:
        process = subprocess.Popen(["taskset", "-c", CLIENT_CPU, ENVOY, "-c", folder / "envoy.json", "--concurrency", "1", "--use-dynamic-base-id",
                                    "--admin-address-path", admin, "--log-level", "warning"], stdout=log, stderr=log)
    try:
        wait_for("Envoy to listen", lambda: admin.exists() and len(listening_ports(admin.read_text())) == 2, seen=(folder / "envoy.log").read_text)
        yield {name: f"127.0.0.1:{port}" for name, port in listening_ports(admin.read_text()).items()}
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)


def mirror_turns(source: pathlib.Path, folder: pathlib.Path, rate: float, share: float, rounds: int) -> Turns:
    """Takes the turns of Envoy's mirror. Each version has a node of its own on the processor of the servers."""
    turns = Turns(rate)
    with contextlib.ExitStack() as stack:
        ports = []
        for version in ("1", "2"):
            only = folder / f"only{version}"
            shutil.copytree(source / version, only / version, copy_function=os.link)
            ports.append(stack.enter_context(node(f"--model_name={MODEL}", "--max_concurrent_runs=1", model=only)).grpc)
        addresses = stack.enter_context(envoy(folder, *ports, share))
        for _ in range(rounds):
            for kind in turns.order():
                time.sleep(SETTLE_S)
                turns.take(kind, addresses[kind])
    return turns


def users(arguments) -> list[dict]:
    if os.cpu_count() < 2:
        raise SystemExit("bench: the part users needs two processors")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = save_two_versions(folder / MODEL)
        with pairs_of(source, folder) as pairs:
            say(f"{arguments.rounds} rounds of {SEGMENT_S} s with pairs and {SEGMENT_S} s without, {pairs.rate:.0f} requests/s")
            for _ in range(arguments.rounds):
                for kind in pairs.turns.order():
                    pairs.take(kind)
        share = pairs.share()
        say(f"the same with Envoy: it mirrors {100 * share:.1f} % of the requests, as many as there were pairs")
        theirs = mirror_turns(source, folder, pairs.rate, share, arguments.rounds) if ENVOY else None
    return rows_of(pairs, theirs)


def row_of_shadow(what: str, peer: str, segments: dict[str, list], upper_max: float) -> dict:
    """Makes a row that compares the turns "with" to those "without". The goal is about the upper end of the interval."""
    ratio, low, high = ratio_of_pooled_p99(segments["with"], segments["without"])
    made = row(what, peer, pooled_p99_ms(segments["with"]), pooled_p99_ms(segments["without"]), f"<= {upper_max}", ratio,
               f"{len(segments['with'])} rounds, pooled")
    say(f"    the ratio is within [{low:.3f}, {high:.3f}]")
    return {**made, "goal": f"upper bound <= {upper_max}", "met": high <= upper_max, "interval": [low, high]}


def rows_of(pairs: Pairs, theirs: Turns | None) -> list[dict]:
    what = f"p99 of users' times at {100 * LOAD:.0f} % load"
    rows = [row_of_shadow(f"{what}, pairs in idle time", "no pairs", pairs.turns.segments, 1.10),
            row("pairs with shadow minus pairs without", "", pairs.count["with"] - pairs.count["without"], 0, ">= 100"),
            row("requests of users that failed", "", pairs.turns.failed(), 0, "<= 0")]
    growth = "growth of the p99 by as many shadow runs"
    if theirs is None:
        return [*rows, failed(growth, "Envoy's mirror", "<= 1")]
    ratio, low, high = ratio_of_pooled_p99(theirs.segments["with"], theirs.segments["without"])
    say(f"  Envoy's mirror: p99 {pooled_p99_ms(theirs.segments['without']):.1f} ms without, {pooled_p99_ms(theirs.segments['with']):.1f} ms with it, "
        f"the ratio is within [{low:.3f}, {high:.3f}]; {theirs.failed()} requests failed")
    return [*rows, row(growth, "Envoy's mirror", rows[0]["ratio"], ratio, "<= 1")]
