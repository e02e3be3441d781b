"""The first process of a cluster's namespaces: it starts everything in them, and when it ends the kernel ends the rest.

Told by the environment (see cluster.py); its output is what `up` shows, and ends with "ready" or "failed: WHY".
When its input ends, which the end of its starter does, it ends too, unless it was told "stay" before.
"""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from control_plane import ControlPlane
from image_archive import write_image
from program import Failure, Program, find_binaries, wait_for

FOLDER = pathlib.Path(os.environ["LONGSHORE_CLUSTER"])
TOOLS = pathlib.Path(os.environ["LONGSHORE_CONTAINERS"])  # Debian's containerd and its friends, unpacked.
CGROUP = os.environ["LONGSHORE_CLUSTER_CGROUP"]
CGROUPS = pathlib.Path("/sys/fs/cgroup")
# Nothing of this network leaves its namespace, so the numbers are free to be the ones that people know.
NODE, NODE_ADDRESS, PODS = "node", "10.244.0.1", "10.244.0.0/24"
SERVICES, DNS_ADDRESS = "10.96.0.0/16", "10.96.0.10"
BRIDGE = "cni0"
PAUSE_IMAGE = "longshore.test/pause:1"
CONTAINERD = "/run/containerd/containerd.sock"
START_MAX_S = 90
KUBELET_WANTS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
                 "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}

CONTAINERD_CONFIG = f"""version = 2
root = "{FOLDER}/containerd"
state = "/run/containerd"
[grpc]
  address = "{CONTAINERD}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE no score may be lowered, and every pod would fail.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{TOOLS}/usr/lib/cni"
    conf_dir = "{FOLDER}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""

NETWORK = {"cniVersion": "0.4.0", "name": "pods", "plugins": [
    {"type": "bridge", "bridge": BRIDGE, "isGateway": True, "hairpinMode": True, "ipam": {
        "type": "host-local", "dataDir": f"{FOLDER}/addresses", "routes": [{"dst": "0.0.0.0/0"}],
        "ranges": [[{"subnet": PODS, "gateway": NODE_ADDRESS}]]}},
    {"type": "portmap", "capabilities": {"portMappings": True}}]}

COREDNS_CONFIG = f""".:53 {{
  bind {NODE_ADDRESS}
  errors
  ready {NODE_ADDRESS}:8181
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {FOLDER}/admin-0.kubeconfig
  }}
  cache 5
}}
"""

# CoreDNS runs beside the API server; pods know it by the address that they know everywhere.
DNS_SERVICE = f"""apiVersion: v1
kind: Service
metadata: {{name: kube-dns, namespace: kube-system, labels: {{k8s-app: kube-dns}}}}
spec:
  clusterIP: {DNS_ADDRESS}
  ports: [{{name: dns, port: 53, protocol: UDP}}, {{name: dns-tcp, port: 53, protocol: TCP}}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: kube-dns, namespace: kube-system, labels: {{kubernetes.io/service-name: kube-dns}}}}
addressType: IPv4
ports: [{{name: dns, port: 53, protocol: UDP}}, {{name: dns-tcp, port: 53, protocol: TCP}}]
endpoints: [{{addresses: [{NODE_ADDRESS}], conditions: {{ready: true}}}}]
"""


def command(*words, input=None):
    done = subprocess.run([str(word) for word in words], input=input, capture_output=True, text=True, check=False,
                          timeout=START_MAX_S)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


class Cluster:
    def __init__(self):
        self.binaries = find_binaries()
        self.control_plane = ControlPlane(controllers=True, address=NODE_ADDRESS, service_cidr=SERVICES, folder=FOLDER)
        self.programs = []

    def start(self):
        began = time.monotonic()
        for what, step in {"a network and file system of its own": self.prepare,
                           "etcd, API server, controllers, CRDs": self.start_control_plane,
                           "containerd": self.start_containerd, "the node": self.start_node,
                           "names": self.start_names}.items():
            step()
            print(f"{time.monotonic() - began:5.1f} s  {what}", flush=True)

    # Nothing below touches the machine's own files, network or mounts: all are this namespace's.

    def prepare(self):
        self.mount()
        for file, value in (("net/ipv4/ip_forward", 1), ("net/bridge/bridge-nf-call-iptables", 1)):
            path = pathlib.Path("/proc/sys") / file
            if path.exists():
                path.write_text(f"{value}\n")
        command("ip", "link", "set", "lo", "up")
        command("ip", "link", "add", BRIDGE, "type", "bridge")
        command("ip", "address", "add", f"{NODE_ADDRESS}/24", "dev", BRIDGE)
        command("ip", "link", "set", BRIDGE, "up")
        # Where kube-proxy's rules are not (yet), such packets find nobody; to everywhere else there is no route.
        command("ip", "route", "add", SERVICES, "dev", BRIDGE)
        self.make_cgroup()

    def mount(self):
        command("mount", "--make-rshared", "/")  # As kubelet wants it; the machine is already out of reach.
        command("mount", "-t", "tmpfs", "tmpfs", "/run")
        for folder in ("/var/lib", "/var/log"):  # Some paths of kubelet cannot be chosen.
            upper, work = (pathlib.Path(f"/run/overlay{folder}/{part}") for part in ("upper", "work"))
            upper.mkdir(parents=True)
            work.mkdir()
            command("mount", "-t", "overlay", "-o", f"lowerdir={folder},upperdir={upper},workdir={work}", "overlay",
                    folder)
        for file, value in KUBELET_WANTS.items():
            self.pretend(pathlib.Path("/proc/sys") / file, value)
        (FOLDER / "resolv.conf").write_text(
            f"nameserver {DNS_ADDRESS}\nsearch default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n")

    def pretend(self, setting, value):
        """These belong to the whole machine: kubelet, which would change them, finds that they are as it wants."""
        if setting.exists():
            shown = pathlib.Path("/run/settings") / setting.name
            shown.parent.mkdir(exist_ok=True)
            shown.write_text(f"{value}\n")
            command("mount", "--bind", shown, setting)

    def make_cgroup(self):
        """In version 2 there is one tree; in version 1 one for each controller."""
        if (CGROUPS / "cgroup.controllers").exists():
            given = (CGROUPS / "cgroup.subtree_control").read_text().split()
            for controller in {"cpu", "cpuset", "memory", "pids"}.difference(given):
                (CGROUPS / "cgroup.subtree_control").write_text(f"+{controller}")
            (CGROUPS / CGROUP).mkdir()
            return
        for tree in CGROUPS.iterdir():
            if tree.is_dir() and not tree.is_symlink() and (tree / "cgroup.procs").exists():
                (tree / CGROUP).mkdir(exist_ok=True)

    def start_control_plane(self):
        self.control_plane.__enter__()
        self.programs += self.control_plane.programs()
        listening = int(os.environ["LONGSHORE_CLUSTER_SOCKET"])  # In the machine's network, for kubectl.
        self.run("relay", [sys.executable, pathlib.Path(__file__).with_name("relay.py"), listening, NODE_ADDRESS,
                           self.control_plane.ports[0].number], pass_fds=[listening])

    def run(self, name, words, **options):
        self.programs.append(Program(FOLDER, name, words, **options))
        return self.programs[-1]

    def kubeconfig(self, name, user, groups=()):
        return self.control_plane.authority.write_kubeconfig(FOLDER / f"{name}.kubeconfig", self.control_plane.url(), user,
                                                             groups)

    def start_containerd(self):
        (FOLDER / "cni").mkdir()
        (FOLDER / "cni/pods.conflist").write_text(json.dumps(NETWORK))
        config = FOLDER / "containerd.toml"
        config.write_text(CONTAINERD_CONFIG)
        containerd = self.run("containerd", [TOOLS / "usr/bin/containerd", "--config", config])
        wait_for("containerd to answer", lambda: subprocess.run(
            ["ctr", "-a", CONTAINERD, "version"], capture_output=True, check=False).returncode == 0, START_MAX_S, [containerd])
        pause = write_image(FOLDER / "pause.tar", PAUSE_IMAGE, {"pause": self.binaries / "pause"}, ["/pause"])
        command("ctr", "-a", CONTAINERD, "-n", "k8s.io", "images", "import", pause)

    def start_node(self):
        config = FOLDER / "kubelet.yaml"
        config.write_text(json.dumps(self.kubelet_config()))
        kubelet = self.run("kubelet", [
            self.binaries / "kube", "kubelet", f"--config={config}", f"--root-dir={FOLDER}/kubelet",
            f"--kubeconfig={self.kubeconfig('kubelet', f'system:node:{NODE}', ['system:nodes'])}",
            f"--hostname-override={NODE}", f"--node-ip={NODE_ADDRESS}"])
        scheduler = self.run("scheduler", [
            self.binaries / "kube", "kube-scheduler", "--leader-elect=false", "--secure-port=0",
            f"--kubeconfig={self.kubeconfig('scheduler', 'system:kube-scheduler')}"])
        proxy = self.run("proxy", [
            self.binaries / "kube", "kube-proxy", f"--kubeconfig={self.kubeconfig('proxy', 'system:kube-proxy')}",
            f"--hostname-override={NODE}", "--proxy-mode=iptables", f"--cluster-cidr={PODS}", "--conntrack-max-per-core=0",
            "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0", "--oom-score-adj=0",
            "--iptables-min-sync-period=100ms"])
        wait_for("kube-proxy's rules", lambda: answers("http://127.0.0.1:10256/healthz"), START_MAX_S, [proxy])
        wait_for("the node to be ready", self.node_is_ready, START_MAX_S, [kubelet, scheduler])

    def node_is_ready(self):
        nodes = json.loads(self.control_plane.kubectl("get", "nodes", "-o", "json"))["items"]
        return any(condition["type"] == "Ready" and condition["status"] == "True"
                   for node in nodes for condition in node["status"].get("conditions", []))

    def kubelet_config(self):
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{CONTAINERD}", "address": NODE_ADDRESS, "resolvConf": "",
            "authentication": {"anonymous": {"enabled": False},
                               "x509": {"clientCAFile": str(self.control_plane.authority.certificate)}},
            "clusterDomain": "cluster.local", "clusterDNS": [DNS_ADDRESS],
            "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{CGROUP}", "failSwapOn": False, "failCgroupV1": False,
            "oomScoreAdj": 0, "podLogsDir": f"{FOLDER}/pods",
            "volumePluginDir": f"{FOLDER}/volume-plugins", "registerNode": True,
            # A machine that is nearly full is still good enough for tests.
            "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
            # As often as a person or a test looks.
            "nodeStatusUpdateFrequency": "2s", "syncFrequency": "5s"}

    def start_names(self):
        config = FOLDER / "Corefile"
        config.write_text(COREDNS_CONFIG)
        coredns = self.run("coredns", [self.binaries / "coredns", "-conf", config])
        self.control_plane.kubectl("apply", "--server-side", "-f", "-", input=DNS_SERVICE)
        wait_for("CoreDNS", lambda: answers(f"http://{NODE_ADDRESS}:8181/ready"), START_MAX_S, [coredns])

    # Afterwards.

    def reap(self):
        """Collects what has ended, orphans too; a program of ours that has ended is written down for `status`."""
        for program in list(self.programs):
            if program.process.poll() is not None:
                with open(FOLDER / "ended", "a") as ended:
                    ended.write(f"{program.name} ended with status {program.process.returncode}; {program.tail()}\n")
                self.programs.remove(program)
        own = {program.process.pid for program in self.programs}
        while True:
            try:
                left = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if left is None or left.si_pid in own:  # Ours are collected by the next round.
                return
            os.waitpid(left.si_pid, 0)


def end_with_the_starter():
    """Its end closes our input, unless it said "stay" before."""
    if sys.stdin.readline() != "stay\n":
        os._exit(1)


def main():
    os.environ["PATH"] = f"{TOOLS}/bin:{TOOLS}/usr/bin:{TOOLS}/usr/sbin:{os.environ['PATH']}"
    libraries = TOOLS / "usr/lib/x86_64-linux-gnu"
    os.environ["LD_LIBRARY_PATH"] = str(libraries)
    os.environ["XTABLES_LIBDIR"] = str(libraries / "xtables")
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    threading.Thread(target=end_with_the_starter, daemon=True).start()
    cluster = Cluster()
    try:
        cluster.start()
    except (Failure, OSError, subprocess.TimeoutExpired) as failure:
        print(f"failed: {failure}", flush=True)
        return 1
    print("ready", flush=True)
    while True:
        select.select([reading], [], [])
        os.read(reading, 4096)
        cluster.reap()


if __name__ == "__main__":
    sys.exit(main())
