"""./dev bench control: a controller with 10,000 Models and 1,000 nodes on a real API server, beside a bare loop that
writes the same objects.

etcd, kube-apiserver and kube-controller-manager are real, and so are the pods' tokens and TLS; the pods are Pending for
ever, and one process plays their nodes: each has a stream, holds what it is told at once, and reports
about once a second, as a node does. All of it shares the
processors. docs/performance.md says more.
"""

import argparse
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
from rows import row

WRITERS = (1, 4, 16, 64)
TOKEN_SECONDS = 7200
READY_MAX_S = 900
MIB = 1 << 20
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def run(control_plane, *words):
    """What longshore-control-load says."""
    done = subprocess.run([BIN / "longshore-control-load", *map(str, words)], env=control_plane.environment(),
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, words))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Asker:
    """GET and POST with the administrator's certificate."""

    def __init__(self, control_plane):
        self.host = urllib.parse.urlsplit(control_plane.url())
        self.tls = control_plane.tls

    def ask(self, method, path, body=None):
        connection = http.client.HTTPSConnection(self.host.hostname, self.host.port, context=self.tls, timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise SystemExit(f"bench: {method} {path}: {text.decode()[:300]}")
        return text

    def get(self, path):
        return json.loads(self.ask("GET", path))


class Process:
    """What it needs, by /proc."""

    def __init__(self, pid):
        self.folder = pathlib.Path(f"/proc/{pid}")

    def resident(self):
        return int((self.folder / "status").read_text().split("VmRSS:")[1].split()[0]) * 1024

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
        self.needs = Process(self.process.pid)

    def metrics(self):
        port = json.loads((self.folder / "port").read_text())["admin"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line and line[0] != "#"}

    def looks(self):
        return sum(count for name, count in self.metrics().items() if name.startswith("longshore_controller_looks_total"))

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


def pods_of(asker):
    pods, token = [], ""
    while True:
        query = f"?limit=500&labelSelector=app.kubernetes.io%2Fname%3Dlongshore-node&continue={token}"
        page = asker.get("/api/v1/namespaces/default/pods" + query)
        pods += page["items"]
        token = urllib.parse.quote(page["metadata"].get("continue", ""))
        if not token:
            return pods


def logins(control_plane, pods, file):
    """A token for each pod, as kubelet asks for it."""
    def login(pod, asker):
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/default/serviceaccounts/{pod['spec']['serviceAccountName']}/token"
        bound = {"kind": "Pod", "apiVersion": "v1", "name": metadata["name"], "uid": metadata["uid"]}
        made = json.loads(asker.ask("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
            "audiences": ["longshore-controller"], "expirationSeconds": TOKEN_SECONDS, "boundObjectRef": bound}}))
        return f"default/{metadata['labels']['longshore.dev/fleet']} {metadata['name']} {made['status']['token']}\n"

    def some(part):
        asker = Asker(control_plane)
        return [login(pod, asker) for pod in part]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        lines = [line for part in pool.map(some, [pods[i::4] for i in range(4)]) for line in part]
    file.write_text("".join(lines))


@contextlib.contextmanager
def fake_nodes(controller, file):
    """`ask()` gives the counts of the streams."""
    process = subprocess.Popen([BIN / "longshore-control-load", "nodes", f"--target=localhost:{controller.port}",
                                f"--ca={controller.ca}", f"--logins={file}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
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
    """Seconds of the bare loop with the best number of writers, tried with a fifth of the Models."""
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


def api_writes(asker):
    """Writes that the API server has answered: all of our kinds, and every server-side apply, which nobody else does."""
    text = asker.ask("GET", "/metrics").decode()
    count = 0
    for line in text.splitlines():
        if not line.startswith("apiserver_request_total{"):
            continue
        is_ours = 'group="longshore.dev"' in line and any(f'verb="{verb}"' in line for verb in WRITES)
        if is_ours or 'verb="APPLY"' in line:
            count += float(line.rsplit(" ", 1)[1])
    return count


def measure(models, nodes, fleets, rate, quiet_s):
    rows = []
    name = f"{models:,} Models, {nodes:,} nodes, {fleets} fleet{'s' if fleets > 1 else ''}"
    say(f"== {name}")
    with tempfile.TemporaryDirectory() as folder, ControlPlane(controllers=True) as control_plane:
        folder = pathlib.Path(folder)
        floor, writers = best_floor(control_plane, models, fleets)
        say(f"  bare loop, {writers} writers, all Models: {floor:.1f} s")
        controller = Controller(control_plane, folder, rate)
        try:
            wait_for(controller.leads, "the controller leads", pause=0.1)
            asker = Asker(control_plane)
            apply_fleets(control_plane, fleets, nodes)
            wait_for(lambda: len(pods_of(asker)) == nodes, "pods", 600, 1)
            pods = pods_of(asker)
            logins(control_plane, pods, folder / "logins")
            before = controller.needs.resident()
            with fake_nodes(controller, folder / "logins") as (ask, fake):
                wait_for(lambda: ask()["streams"] == nodes, "streams", 120, 0.2)
                time.sleep(10)  # What is left to do after that: snapshots, statuses.
                idle = controller.needs.resident()
                say(f"  controller: {before / MIB:.0f} MiB with the pods, {idle / MIB:.0f} MiB with {nodes} idle streams")
                cpu, counts, writes, looks = controller.needs.cpu_seconds(), ask(), api_writes(asker), controller.looks()
                applied = run(control_plane, "apply", f"--models={models}", f"--fleets={fleets}", f"--writers={writers}",
                              f"--seconds_max={READY_MAX_S}")
                cpu, after = controller.needs.cpu_seconds() - cpu, ask()
                writes, looks = api_writes(asker) - writes - models, controller.looks() - looks
                say(f"  for each Model {writes / models:.2f} writes of its status and {looks / models:.1f} looks")
                say(f"  applied in {applied['applied_seconds']:.1f} s, Ready after {applied['seconds']:.1f} s; the controller: "
                    f"{cpu:.1f} s of CPU; to nodes: {after['messages'] - counts['messages']:,} messages, "
                    f"{(after['bytes'] - counts['bytes']) / MIB:.1f} MiB")
                rows.append(row(f"{name}: apply to Ready, s", "the bare loop", applied["seconds"], floor, "<= 1.5"))
                rows.append(row(f"{name}: controller's memory, MiB", "", controller.needs.resident() / MIB, 0, "<= 96"))
                rows += quiet_rows(name, controller, asker, quiet_s)
                say(f"  the fake nodes: {fake.resident() / MIB:.0f} MiB, {fake.cpu_seconds():.1f} s of CPU")
        finally:
            controller.end()
            text = (folder / "controller.log").read_text(errors="replace")
            if text:
                say("  the controller said:\n" + "\n".join("    " + line[:300] for line in text.splitlines()[-10:]))
    return rows


def quiet_rows(name, controller, asker, seconds):
    """When nothing changes."""
    time.sleep(5)
    cpu, writes, looks = controller.needs.cpu_seconds(), api_writes(asker), controller.looks()
    time.sleep(seconds)
    cpu, writes, looks = (now - before for now, before in zip(
        (controller.needs.cpu_seconds(), api_writes(asker), controller.looks()), (cpu, writes, looks)))
    say(f"  in {seconds} quiet s: {looks:.0f} looks at objects")
    return [row(f"{name}: writes of our objects in {seconds} quiet s", "", writes, 0, "<= 0"),
            row(f"{name}: share of a core in {seconds} quiet s", "", cpu / seconds, 0, "<= 0.01")]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench control", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--fleets", type=int, action="append", help="how many; may be given more than once [1 and 100]")
    parser.add_argument("--api_requests_per_second", type=int, default=2_000, help="the controller's limit [%(default)s]")
    parser.add_argument("--quiet_s", type=int, default=600, help="how long nothing changes [%(default)s]")
    options = parser.parse_args()
    rows = []
    for fleets in options.fleets or [1, 100]:
        rows += measure(options.models, options.nodes, fleets, options.api_requests_per_second, options.quiet_s)
    if options.json:
        print(json.dumps({"rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
