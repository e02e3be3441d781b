"""./dev bench control: a controller with 10,000 Models and 1,000 nodes on a real API server, compared with a bare loop that
writes the same objects.

etcd, kube-apiserver and kube-controller-manager are real, and so are the tokens of the pods and TLS. The pods stay Pending, and one
process simulates their nodes: each has a stream, immediately holds the versions that it should hold, and reports about once a
second, as a real node does. The endpoints of the Services are simulated, too. All programs share the processors. docs/performance.md has the details.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "cluster"), str(TESTS / "demo")]

from authority import Authority
from control_plane import ControlPlane
from processes import BIN, say, wait_for
from programs import free_port
from rows import add_arguments, finish, row

WRITERS = (1, 4, 16, 64)
TOKEN_SECONDS = 7200
READY_MAX_S = 900
MIB = 1 << 20
PROCESS_MAX_MIB, NODE_MAX_KIB, MODEL_MAX_KIB = 32, 150, 4  # Budgets of the controller's memory.
SETTLE_S = 10
CANARY, CANARY_NODES, CANARY_HOLD, CANARY_MAX_S = "m0", 10, "60s", 300
SCRAPES, SCRAPE_INTERVAL_S = 4, 30
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def run(control_plane, *arguments):
    """Runs longshore-control-load. Returns the JSON object that it prints."""
    done = subprocess.run([BIN / "longshore-control-load", *map(str, arguments)], env=control_plane.environment(),
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class ApiClient:
    """A client of the API server with the certificate of the administrator."""

    def __init__(self, control_plane):
        self.host = urllib.parse.urlsplit(control_plane.url())
        self.tls = control_plane.tls

    def request(self, method, path, body=None, content_type="application/json"):
        connection = http.client.HTTPSConnection(self.host.hostname, self.host.port, context=self.tls, timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": content_type})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise SystemExit(f"bench: {method} {path}: {text.decode()[:300]}")
        return text

    def get(self, path):
        return json.loads(self.request("GET", path))


class Process:
    """The memory in bytes and the CPU time in seconds of a process, from /proc."""

    def __init__(self, pid):
        self.folder = pathlib.Path(f"/proc/{pid}")

    def resident(self):
        return self._kib("VmRSS") * 1024

    def peak_resident(self):
        return self._kib("VmHWM") * 1024

    def reset_peak_resident(self):
        (self.folder / "clear_refs").write_text("5")  # proc(5).

    def _kib(self, name):
        return int((self.folder / "status").read_text().split(f"{name}:")[1].split()[0])

    def cpu_seconds(self):
        fields = (self.folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


class Controller:
    def __init__(self, control_plane, folder, rate):
        self.folder = folder
        self.port = free_port()
        authority = Authority(folder / "ca")
        self.ca = authority.certificate
        self.log = open(folder / "controller.log", "wb")
        self.process = subprocess.Popen(
            [BIN / "longshore-controller", "--kubernetes", f"--kubeconfig={control_plane.kubeconfig}", "--namespace=default",
             "--node_image=longshore/node:bench", f"--node_address=127.0.0.1:{self.port}",
             f"--advertised_address=dns:///localhost:{self.port}", f"--ca_cert_file={authority.certificate}",
             f"--ca_key_file={authority.key}", f"--api_requests_per_second={rate}", "--admin_port=0",
             f"--port_file={folder / 'port'}", "--log_level=warning"], stdout=self.log, stderr=self.log)
        self.usage = Process(self.process.pid)

    def metrics(self):
        port = json.loads((self.folder / "port").read_text())["admin"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line and line[0] != "#"}

    def reconciles(self):
        return sum(count for name, count in self.metrics().items() if name.startswith("longshore_controller_reconciles_total"))

    def lists(self):
        return self.metrics()["longshore_controller_lists"]

    def leads(self):
        with contextlib.suppress(OSError, KeyError, ValueError):
            return self.metrics()["longshore_controller_leading"] == 1
        return False

    def end(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()


def apply_fleets(control_plane, fleets, nodes):
    manifests = [{"apiVersion": "longshore.dev/v1alpha1", "kind": "ServingFleet", "metadata": {"name": f"f{i}"},
                  "spec": {"replicas": {"min": nodes // fleets}}} for i in range(fleets)]
    control_plane.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))


def pods_of(client):
    pods, token = [], ""
    while True:
        query = f"?limit=500&labelSelector=app.kubernetes.io%2Fname%3Dlongshore-node&continue={token}"
        page = client.get("/api/v1/namespaces/default/pods" + query)
        pods += page["items"]
        token = urllib.parse.quote(page["metadata"].get("continue", ""))
        if not token:
            return pods


def make_endpoints(client, fleets):
    """Writes an EndpointSlice with a ready endpoint for each fleet, as Kubernetes does. Otherwise no address would answer, and no Model
    would be Ready."""
    for i in range(fleets):
        service = client.get(f"/api/v1/namespaces/default/services/longshore-f{i}")["metadata"]
        client.request("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": [],
            "metadata": {"name": service["name"], "labels": service["labels"], "ownerReferences": [
                {"apiVersion": "v1", "kind": "Service", "name": service["name"], "uid": service["uid"]}]},
            "endpoints": [{"addresses": [f"10.0.{i // 256}.{i % 256}"], "conditions": {"ready": True}}]})


def logins(control_plane, pods, file):
    """Writes the token of each pod to `file`, requested as kubelet does."""
    def login(pod, client):
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/default/serviceaccounts/{pod['spec']['serviceAccountName']}/token"
        bound = {"kind": "Pod", "apiVersion": "v1", "name": metadata["name"], "uid": metadata["uid"]}
        made = json.loads(client.request("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
            "audiences": ["longshore-controller"], "expirationSeconds": TOKEN_SECONDS, "boundObjectRef": bound}}))
        return f"default/{metadata['labels']['longshore.dev/fleet']} {metadata['name']} {made['status']['token']}\n"

    def logins_of(part):
        client = ApiClient(control_plane)
        return [login(pod, client) for pod in part]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        lines = [line for part in pool.map(logins_of, [pods[i::4] for i in range(4)]) for line in part]
    file.write_text("".join(lines))


@contextlib.contextmanager
def fake_nodes(controller, file, *flags):
    """Yields a function that returns the counts of the streams, and the Process of the fake nodes."""
    process = subprocess.Popen([BIN / "longshore-control-load", "nodes", f"--target=localhost:{controller.port}",
                                f"--ca={controller.ca}", f"--logins={file}", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)

    def ask():
        process.stdin.write("\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    try:
        yield ask, Process(process.pid)
    finally:
        process.stdin.close()
        process.wait(60)


def best_floor(control_plane, models, fleets):
    """Returns the seconds of the bare loop for all Models, and its number of writers: the best for a fifth of the Models."""
    control_plane.kubectl("create", "namespace", "floor")
    few = {}
    for writers in WRITERS:
        few[writers] = run(control_plane, "floor", "--namespace=floor", f"--models={models // 5}", f"--fleets={fleets}",
                           f"--writers={writers}")["seconds"]
        say(f"  bare loop, {writers} writers: {models / 5 / few[writers]:.0f} Models a second")
    best = min(few, key=few.get)
    seconds = run(control_plane, "floor", "--namespace=floor", f"--models={models}", f"--fleets={fleets}",
                  f"--writers={best}")["seconds"]
    control_plane.kubectl("delete", "namespace", "floor", "--wait=false")
    return seconds, best


def api_writes(client):
    """Returns how many writes the API server has answered: of Longshore's objects and of Events.

    All server-side applies count as writes of objects, because only Longshore uses them."""
    writes = collections.Counter()
    for line in client.request("GET", "/metrics").decode().splitlines():
        if not line.startswith("apiserver_request_total{"):
            continue
        is_write = any(f'verb="{verb}"' in line for verb in WRITES)
        count = float(line.rsplit(" ", 1)[1])
        if 'group="longshore.dev"' in line and is_write or 'verb="APPLY"' in line:
            writes["objects"] += count
        elif 'resource="events"' in line and is_write:
            writes["events"] += count
    return writes


def memory_max_mib(models, nodes):
    """Returns the memory that the controller may have, from fixed budgets: for itself, for each node and for each Model."""
    return PROCESS_MAX_MIB + (nodes * NODE_MAX_KIB + models * MODEL_MAX_KIB) / 1024


def measure(options, fleets):
    models, nodes = options.models, options.nodes
    name = f"{models:,} Models, {nodes:,} nodes, {fleets} fleet{'s' if fleets > 1 else ''}"
    say(f"== {name}")
    with tempfile.TemporaryDirectory() as folder, ControlPlane(controllers=True) as control_plane:
        folder = pathlib.Path(folder)
        floor, writers = best_floor(control_plane, models, fleets)
        say(f"  bare loop, {writers} writers, all Models: {floor:.1f} s")
        controller = Controller(control_plane, folder, options.api_requests_per_second)
        try:
            wait_for(controller.leads, "the controller leads", pause=0.1)
            client = ApiClient(control_plane)
            apply_fleets(control_plane, fleets, nodes)
            wait_for(lambda: len(pods_of(client)) == nodes, "pods", 600, 1)
            pods = pods_of(client)
            make_endpoints(client, fleets)
            logins(control_plane, pods, folder / "logins")
            before = controller.usage.resident()
            with fake_nodes(controller, folder / "logins") as (ask, fake):
                wait_for(lambda: ask()["streams"] == nodes, "streams", 120, 0.2)
                time.sleep(10)  # The remaining work: snapshots and statuses.
                idle = controller.usage.resident()
                say(f"  controller: {before / MIB:.0f} MiB with the pods, {idle / MIB:.0f} MiB with {nodes} idle streams")
                bench = Bench(name, control_plane, controller, client, ask, writers, memory_max_mib(models, nodes))
                rows = bench.apply(models, fleets, floor)
                rows += bench.quiet(options.quiet_s)
                rows += bench.canary()
                rows += bench.scraped(SCRAPES)
                rows += bench.events(options.events, models)
                say(f"  the fake nodes: {fake.resident() / MIB:.0f} MiB, {fake.cpu_seconds():.1f} s of CPU")
        finally:
            controller.end()
            text = (folder / "controller.log").read_text(errors="replace")
            if text:
                say("  the log of the controller:\n" + "\n".join("    " + line[:300] for line in text.splitlines()[-10:]))
    return rows


class Bench:
    """The measurements of a controller whose nodes are connected, in the order of the methods."""

    def __init__(self, name, control_plane, controller, client, ask, writers, memory_max):
        self.name, self.control_plane, self.controller, self.client = name, control_plane, controller, client
        self.ask, self.writers, self.memory_max = ask, writers, memory_max

    def counts(self):
        """Returns counters: CPU seconds, writes that the API server has answered, messages and bytes to nodes."""
        nodes = self.ask()
        return collections.Counter({"cpu": self.controller.usage.cpu_seconds(), "messages": nodes["messages"],
                                    "bytes": nodes["bytes"], **api_writes(self.client)})

    def since(self, before):
        now = self.counts()
        now.subtract(before)
        return now

    def row(self, what, ours, goal):
        return row(f"{self.name}: {what}", "", ours, 0, goal)

    def memory_row(self, when):
        return self.row(f"the controller's memory {when}, MiB", self.controller.usage.resident() / MIB,
                        f"<= {self.memory_max:.0f}")

    def apply(self, models, fleets, floor):
        before, reconciles = self.counts(), self.controller.reconciles()
        applied = run(self.control_plane, "apply", f"--models={models}", f"--fleets={fleets}", f"--writers={self.writers}",
                      f"--seconds_max={READY_MAX_S}")
        needed = self.since(before)
        say(f"  applied in {applied['applied_seconds']:.1f} s, Ready after {applied['seconds']:.1f} s; for each Model "
            f"{needed['objects'] / models - 1:.2f} writes of its status, {needed['cpu'] / models * 1e3:.1f} ms of CPU, "
            f"{needed['messages'] / models:.1f} messages to nodes, {needed['bytes'] / models / 1024:.1f} KiB")
        rows = [row(f"{self.name}: apply to Ready, s", "the bare loop", applied["seconds"], floor, "<= 1.5"),
                self.memory_row("then")]
        say(f"  reconciles of each Model: {(self.controller.reconciles() - reconciles) / models:.1f}")
        return rows

    def quiet(self, seconds):
        """Measures while nothing changes and no client reads the metrics."""
        time.sleep(SETTLE_S)
        before = self.counts()
        time.sleep(seconds)
        needed = self.since(before)
        say(f"  in {seconds} quiet s: {needed['messages']:.0f} messages to nodes")
        return [self.row(f"writes of objects and Events in {seconds} quiet s", needed["objects"] + needed["events"], "<= 0"),
                self.row(f"share of a core in {seconds} quiet s", needed["cpu"] / seconds, "<= 0.01"),
                self.memory_row("after that")]

    def canary(self):
        """Runs a canary of one Model with two steps. Its nodes report requests without errors."""
        path = f"/apis/longshore.dev/v1alpha1/namespaces/default/models/{CANARY}"
        model = self.client.get(path)

        def apply(spec):
            self.client.request("PATCH", path, {"spec": spec}, "application/merge-patch+json")

        def status():
            return self.client.get(path)["status"]
        apply({"replicas": CANARY_NODES})
        wait_for(lambda: len(status().get("nodes", [])) == CANARY_NODES, "more replicas", CANARY_MAX_S, 0.2)
        time.sleep(SETTLE_S)
        before = self.counts()
        apply({"version": 2, "rollout": {"steps": [{"weight": 10}, {"weight": 50, "proof": "Sampled"}], "hold": CANARY_HOLD}})
        wait_for(lambda: status().get("stableVersion") == 2, "a canary", CANARY_MAX_S, 0.2)
        time.sleep(SETTLE_S)
        needed = self.since(before)
        listed = self.client.get(f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid={model['metadata']['uid']}")
        states = collections.Counter((event["reason"], event["message"]) for event in listed["items"])
        say(f"  a canary: {needed['messages']:.0f} messages to nodes, {needed['bytes'] / 1024:.0f} KiB; Events: "
            + ", ".join(reason for reason, _ in states))
        return [self.row("writes of one canary", needed["objects"] - 1, "<= 12"),
                self.row("Events for one state of it", max(states.values(), default=0), "<= 1")]

    def scraped(self, times):
        """Measures while the metrics are read every 30 seconds, as Prometheus does."""
        self.controller.usage.reset_peak_resident()
        before = self.counts()
        for _ in range(times):
            took = -time.monotonic()
            self.controller.metrics()
            took += time.monotonic()
            time.sleep(max(0, SCRAPE_INTERVAL_S - took))
        most = self.controller.usage.peak_resident()
        say(f"  the last reading of its metrics took {took:.1f} s")
        needed = self.since(before)
        return [self.row("share of a core with metrics read every 30 s", needed["cpu"] / times / SCRAPE_INTERVAL_S, "<= 0.05"),
                self.row("the controller's most memory while they are read, MiB", most / MIB, f"<= {self.memory_max:.0f}")]

    def events(self, events, models):
        """Changes Models in ways that require no work, and measures the watch events."""
        if events == 0:
            return []
        lists = self.controller.lists()
        before, memory = self.counts(), self.controller.usage.resident()
        took = run(self.control_plane, "touch", f"--models={models}", f"--times={events}", f"--writers={self.writers}")["seconds"]
        time.sleep(SETTLE_S)
        grown = (self.controller.usage.resident() - memory) / MIB
        cpu = self.since(before)["cpu"]
        say(f"  {events:,} events in {took:.0f} s; the controller: {cpu:.0f} s of CPU")
        return [self.row(f"lists over {events:,} watch events", self.controller.lists() - lists, "<= 0"),
                self.row(f"memory grown over {events:,} watch events, MiB", grown, "<= 10")]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench control", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--fleets", type=int, action="append", help="the number of fleets; may be given more than once [1 and 100]")
    parser.add_argument("--api_requests_per_second", type=int, default=2_000, help="the limit of the controller [%(default)s]")
    parser.add_argument("--quiet_s", type=int, default=600, help="seconds without changes [%(default)s]")
    parser.add_argument("--events", type=int, default=1_000_000, help="changes of Models at the end; 0: none [%(default)s]")
    options = parser.parse_args()
    rows = []
    for fleets in options.fleets or [1, 100]:
        rows += measure(options, fleets)
    return finish(rows, options)


if __name__ == "__main__":
    sys.exit(main())
