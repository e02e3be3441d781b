"""A real run for dashboards: a host with nodes under load, two controllers of a cluster, a Prometheus that scrapes them all,
and the faults that one can do to them."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("integration", "cluster", "crds")]

from api import GROUP, Api
from control_plane import ControlPlane
from harness import BIN, MODELS, Installation, wait_for
from program import Program
from prometheus import Prometheus, free_port

RULES = ROOT / "deploy/prometheus/rules.yaml"
RATE_INTERVAL_S = 5  # What $__rate_interval is at a scrape each second.
STEADY_PER_S = 20     # Requests of each model.
BAD_PER_S = 40        # Requests of the client that does not know the inputs: few beside an overload, which follows.
RUN_MS = 10
OVERLOAD_PER_S = 400  # Requests of each of two models, at two nodes that can do 100 each.
IMAGES = ("--input=image", "--shape=1,8,8,1")
IMAGE_BYTES = 256

FLEET = """apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {{name: {name}}}
spec:
  replicas: {{min: {nodes}, max: {nodes_max}}}
  ports: {{grpc: {grpc}, rest: 0}}
  connectionAgeMax: 2s
  engine: {{concurrentRuns: 1, simulatedRun: {run_ms}ms}}
  autoscaling:
    queueDelay: 20ms
    prometheus: {{url: "{prometheus}"}}
    metricsAgeMax: 4s
    scaleUpCooldown: 1s
"""
DIGITS = """  batching: {maxBatchSize: 4, maxDelay: 5ms}
  slo: {latency: {quantile: 0.99, target: 300ms}, errorRate: "0.1%"}
"""
HALF = """  batching: {maxQueue: 50}
  slo: {latency: {quantile: 0.99, target: 300ms}, errorRate: "0.1%"}
"""
QUICK = {"hold": "1s", "requestsMin": 20, "steps": [{"weight": 50, "proof": "Sampled"}], "analysis": {"latency": {"tolerance": 4}}}
BY_HAND = {"hold": "1s", "requestsMin": 20, "steps": [{"weight": 50, "pause": "Manual"}]}


class Load:
    """longshore-load, until it is told to stop."""

    def __init__(self, installation, model, rate, *flags):
        status = installation.fleet_status()
        self.process = subprocess.Popen(
            [BIN / "longshore-load", f"--grpc={status['grpcAddress']}", f"--rest={status['restAddress']}", f"--model={model}",
             f"--rate={rate}", "--retries=1", *flags], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

    def end(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()


class Chatter:
    """Objects of a cluster that change again and again, so that its API server always has something to say."""

    PAUSE_S = 0.2

    def __init__(self, plane):
        self.api = Api(plane.url(), plane.tls)
        self.paths = [f"{GROUP}/servingfleets/talk", f"{GROUP}/models/talk"]
        for kind, spec in (("ServingFleet", {}), ("Model", {"fleet": "talk", "source": {"uri": "file:///models/m"}})):
            self.api.apply({"apiVersion": "longshore.dev/v1alpha1", "kind": kind, "metadata": {"name": "talk"}, "spec": spec})
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.talk)
        self.thread.start()

    def talk(self):
        words = 0
        while not self.ending.wait(self.PAUSE_S):
            words += 1
            for path in self.paths:
                with contextlib.suppress(OSError):  # The API server is stopped, or ends.
                    self.api.request("PATCH", path, {"metadata": {"annotations": {"words": str(words)}}}, "application/merge-patch+json")

    def end(self):
        self.ending.set()
        self.thread.join()
        self.api.close()


class Scene:
    """Starts everything; its faults are methods that are told to begin by `with` and heal at its end."""

    def __init__(self, prometheus_program):
        self.cleanup = contextlib.ExitStack()
        self.program = prometheus_program

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.cleanup.close()
            raise
        return self

    def __exit__(self, *_failure):
        self.cleanup.close()

    # Starting.

    def start(self):
        self.it = self.cleanup.enter_context(Installation())
        self.it.node_binary = self.it.dir / "longshore-node"
        self.it.node_binary.symlink_to((BIN / "longshore-node").resolve())
        self.controllers = {}  # Name -> its program, in the cluster.
        jobs = {"longshore-nodes": self.it.state / "prometheus/nodes.json", "longshore-controller": self.it.dir / "controllers.json"}
        self.prometheus = Prometheus(self.program, self.it.dir, jobs, [RULES])
        self.cleanup.callback(self.prometheus.stop)
        self.copy_models()
        self.prometheus.start()
        self.start_host()
        self.start_cluster()
        for load in (Load(self.it, "digits", STEADY_PER_S, *IMAGES, f"--data={MODELS / 'digits/traffic.f32'}", "--rest_share=0.2"),
                     Load(self.it, "half", STEADY_PER_S)):
            self.cleanup.callback(load.end)
        self.wait_for_metrics()

    def wait_for_metrics(self):
        """Of requests and of the cluster's leader."""
        wait_for("requests in Prometheus", lambda: self.prometheus.now(f"sum(rate(longshore_requests_total[{RATE_INTERVAL_S}s])) > 0"))
        wait_for("a leader in the cluster", lambda: self.prometheus.now(
            "longshore_controller_lists and on (instance) longshore_controller_leading == 1"))

    def copy_models(self):
        for name, versions in {"half": ("half_plus_two_tf2", "half_plus_three_tf2"), "spare": ("half_plus_two_tf2",)}.items():
            for number, of in enumerate(versions, 1):
                shutil.copytree(MODELS / of / "1", self.it.dir / name / str(number))
        (self.it.dir / "absent").mkdir()
        images = (MODELS / "digits/traffic.f32").read_bytes()
        broken = [int(line) for line in (MODELS / "digits/traffic_nan.txt").read_text().split()]
        (self.it.dir / "nan.f32").write_bytes(b"".join(images[at * IMAGE_BYTES:(at + 1) * IMAGE_BYTES] for at in broken))

    def start_host(self):
        self.apply_fleet("cpu")
        self.apply_digits(1)
        self.apply_half(1)
        self.start_host_controller()
        for model in ("digits", "half"):
            self.it.wait_for_stable(model, 1)
        self.it.wait_for_ready_nodes(2)
        self.it.wait_for_answers("half", {"instances": [2.0]})

    def start_host_controller(self):
        self.it.start_controller()
        wait_for("the controller's port", lambda: (self.it.dir / "admin.json").exists())
        self.list_controllers()

    def start_cluster(self):
        self.plane = self.cleanup.enter_context(ControlPlane())
        for name in ("a", "b"):
            self.start_controller_in_cluster(name)

    def start_controller_in_cluster(self, name):
        port_file = self.it.dir / f"admin_{name}.json"
        port_file.unlink(missing_ok=True)
        program = Program(self.it.dir, f"controller_{name}", [
            BIN / "longshore-controller", "--kubernetes", f"--kubeconfig={self.plane.kubeconfig}", "--namespace=default",
            "--node_image=longshore/node:test", "--node_address=127.0.0.1:0", "--advertised_address=dns:///localhost:1",
            f"--ca_cert_file={self.plane.authority.certificate}", f"--ca_key_file={self.plane.authority.key}",
            "--lease_duration=3s", "--lease_renew_deadline=2s", "--lease_retry_period=500ms", "--admin_port=0", "--console_port=0",
            f"--port_file={port_file}"])
        self.controllers[name] = program
        self.cleanup.callback(program.end)
        wait_for(f"controller {name} to tell its port", lambda: program.check() or port_file.exists())
        self.list_controllers()

    def controller_addresses(self):
        files = [self.it.dir / "admin.json", *(self.it.dir / f"admin_{name}.json" for name in self.controllers)]
        return [f"127.0.0.1:{json.loads(path.read_text())['admin']}" for path in files]

    def list_controllers(self):
        """For Prometheus, as its own file of targets."""
        draft = self.it.dir / ".controllers.json"
        draft.write_text(json.dumps([{"targets": self.controller_addresses()}]))
        draft.rename(self.it.dir / "controllers.json")

    def apply_fleet(self, name, nodes=2, nodes_max=2, grpc=0, run_ms=RUN_MS, prometheus=None):
        self.it.write_manifest(f"{name}-fleet.yaml", FLEET.format(
            name=name, nodes=nodes, nodes_max=nodes_max, grpc=grpc, run_ms=run_ms, prometheus=prometheus or self.prometheus.url()))

    def apply_digits(self, version, extra=DIGITS):
        self.it.apply_model("digits", MODELS / "digits", version, QUICK, extra)

    def apply_half(self, version, extra=HALF):
        self.it.apply_model("half", self.it.dir / "half", version, BY_HAND, extra)

    def running_nodes(self):
        """A node that is about to be started again has the process id 0, and nobody may signal that."""
        return sorted(pid for pid in self.it.node_pids().values() if pid > 0)

    def wait_for_short_queues(self):
        wait_for("the queues to have been short for a while", lambda: self.prometheus.now(
            f"max(max_over_time(longshore_queued[{RATE_INTERVAL_S + 1}s])) < 5"))

    # Faults, in the order in which they are done.

    @contextlib.contextmanager
    def new_model(self):
        """Another model, and it is asked for."""
        self.it.apply_model("spare", self.it.dir / "spare", 1, extra="  batching: {maxQueue: 50}\n")
        self.it.wait_for_stable("spare", 1)
        load = Load(self.it, "spare", STEADY_PER_S)
        self.cleanup.callback(load.end)
        yield

    @contextlib.contextmanager
    def promotion(self):
        """A good version of digits."""
        self.apply_digits(2)
        yield
        self.it.wait_for_stable("digits", 2)

    @contextlib.contextmanager
    def rollback(self):
        """A version of digits that answers NaN to some."""
        self.apply_digits(4)
        load = Load(self.it, "digits", STEADY_PER_S, *IMAGES, f"--data={self.it.dir / 'nan.f32'}")
        try:
            yield
        finally:
            load.end()
        self.apply_digits(2)
        wait_for("digits to be content again", lambda: self.it.condition("Model", "digits", "Stalled").get("status") == "False")

    @contextlib.contextmanager
    def pause(self):
        """A rollout of half waits for somebody at half of the requests."""
        self.apply_half(2)
        yield
        self.it.command("promote", "half")
        self.it.wait_for_stable("half", 2)

    @contextlib.contextmanager
    def bad_requests(self):
        """A client that does not know the model's inputs."""
        ending = threading.Event()

        def ask():
            while not ending.wait(1 / BAD_PER_S):
                with contextlib.suppress(urllib.error.HTTPError):
                    self.it.ask("digits:predict", {"instances": ["a"]})

        client = threading.Thread(target=ask)
        client.start()
        try:
            yield
        finally:
            ending.set()
            client.join()

    @contextlib.contextmanager
    def overload(self):
        """More requests than the nodes can run, of each model by one connection."""
        loads = [Load(self.it, model, OVERLOAD_PER_S, "--connections=1") for model in ("half", "spare")]
        try:
            yield
        finally:
            for load in loads:
                load.end()
        self.wait_for_short_queues()

    @contextlib.contextmanager
    def burst(self):
        """Many requests to the model that batches."""
        load = Load(self.it, "digits", 10 * STEADY_PER_S, *IMAGES, "--rest_share=0.5")
        try:
            yield
        finally:
            load.end()

    @contextlib.contextmanager
    def patient_batches(self):
        """Batches of digits may wait twenty times as long for more requests."""
        self.apply_digits(2, DIGITS.replace("maxDelay: 5ms", "maxDelay: 100ms"))
        yield
        self.apply_digits(2)

    @contextlib.contextmanager
    def slow_engine(self):
        """Every run takes ten times as long: more than the stalls of a busy machine."""
        self.apply_fleet("cpu", run_ms=10 * RUN_MS)
        yield
        self.apply_fleet("cpu")
        self.wait_for_short_queues()

    @contextlib.contextmanager
    def stopped_node(self):
        """A node is there, and does nothing until the controller restarts it."""
        pid = self.running_nodes()[0]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.it.wait_for_ready_nodes(2)

    @contextlib.contextmanager
    def missing_node(self):
        """A node ends and cannot be started again."""
        self.it.node_binary.rename(self.it.dir / "away")
        os.kill(self.running_nodes()[0], signal.SIGKILL)
        try:
            yield
        finally:
            (self.it.dir / "away").rename(self.it.node_binary)
        self.it.wait_for_ready_nodes(2)

    @contextlib.contextmanager
    def killed_nodes(self):
        """All nodes end, and are started again."""
        for pid in self.running_nodes():
            os.kill(pid, signal.SIGKILL)
        yield
        self.it.wait_for_ready_nodes(2)

    @contextlib.contextmanager
    def no_files(self):
        """A Model without files."""
        self.it.apply_model("absent", self.it.dir / "absent", 1)
        yield

    @contextlib.contextmanager
    def mistake(self):
        """A manifest with a field that there is not."""
        self.apply_half(2, "  replica: 2\n")
        yield
        self.apply_half(2)

    @contextlib.contextmanager
    def missing_golden_set(self):
        """The golden set of half is to run again each minute, and is not there."""
        self.apply_half(2, HALF + "  validation: {goldenSet: {path: golden, every: 1m}}\n")
        yield
        self.apply_half(2)

    @contextlib.contextmanager
    def long_golden_set(self):
        """The golden set of digits is to run again each minute. Each of its records waits for the others."""
        self.apply_digits(2, DIGITS + "  validation: {goldenSet: {path: golden/golden.tfrecord, every: 1m}}\n")
        yield
        self.apply_digits(2)

    @contextlib.contextmanager
    def damaged_object(self):
        """The record of an object is no JSON."""
        (self.it.manifests / ".longshore/objects/Model/default/spare.json").write_text("{")
        yield

    @contextlib.contextmanager
    def blind_fleet(self):
        """A fleet whose Prometheus is not there."""
        self.apply_fleet("blind", nodes=1, prometheus=f"http://127.0.0.1:{free_port()}")
        yield

    @contextlib.contextmanager
    def busy_port(self):
        """A fleet whose port is somebody else's."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.apply_fleet("deaf", nodes=1, grpc=other.getsockname()[1])
            yield

    @contextlib.contextmanager
    def unwritable_state(self):
        """A node of half cannot write its desired state, because a folder has its name."""
        kept = sorted((self.it.state / "nodes").glob("default.cpu-*/desired.pb"))[0]
        kept.unlink()
        kept.mkdir()
        self.apply_half(2, "  batching: {maxQueue: 51}\n")
        try:
            yield
        finally:
            kept.rmdir()
        self.apply_half(2)
        wait_for("the node to write its state again", kept.is_file)
        self.it.wait_for_ready_nodes(2)

    @contextlib.contextmanager
    def busy_cluster(self):
        """Objects of the cluster change all the time."""
        chatter = Chatter(self.plane)
        self.cleanup.callback(chatter.end)
        wait_for("the controllers to hear of it", lambda: self.prometheus.now("max(longshore_controller_staleness_seconds) < 1"))
        yield

    @contextlib.contextmanager
    def silent_api_server(self):
        """The API server takes connections and says nothing."""
        server = self.plane.servers[0].process
        server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            server.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def lost_leader(self):
        """The controller that leads in the cluster ends; the other one takes over, and a new one stands by."""
        [leader] = [name for name, program in self.controllers.items() if "became the leader: epoch" in program.log.read_text()]
        self.controllers[leader].end()
        self.start_controller_in_cluster(leader)
        yield

    @contextlib.contextmanager
    def no_controller(self):
        """All controllers are killed."""
        self.it.kill_controller()
        for program in self.controllers.values():
            program.end()
        yield


FAULTS = ["new_model", "promotion", "rollback", "pause", "bad_requests", "overload", "burst", "patient_batches", "slow_engine", "no_files",
          "mistake", "missing_golden_set", "long_golden_set", "blind_fleet", "busy_port", "unwritable_state", "stopped_node", "missing_node",
          "killed_nodes", "damaged_object", "lost_leader", "busy_cluster", "silent_api_server", "no_controller"]
