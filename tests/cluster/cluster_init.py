"""The first process in a cluster's namespaces: it starts all other programs, and when it ends, the kernel ends them.

It is configured by environment variables (see cluster.py). `up` shows its output, whose last line is "ready" or
"failed: REASON". Its input is closed when its starter ends; then it ends too, unless it has read the line "stay".
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
TOOLS = pathlib.Path(os.environ["LONGSHORE_CONTAINERS"])  # Unpacked Debian packages: containerd, runc, CNI plugins, iptables.
CGROUP = os.environ["LONGSHORE_CLUSTER_CGROUP"]
CGROUPS = pathlib.Path("/sys/fs/cgroup")
# This network never leaves its namespace, so it can use the customary addresses.
NODE, NODE_ADDRESS, PODS = "node", "10.244.0.1", "10.244.0.0/24"
SERVICES, DNS_ADDRESS = "10.96.0.0/16", "10.96.0.10"
BRIDGE = "cni0"
PAUSE_IMAGE = "longshore.test/pause:1"
CONTAINERD = "/run/containerd/containerd.sock"
START_MAX_S = 90
KUBELET_SETTINGS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
                    "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}

CONTAINERD_CONFIG = f"""version = 2
root = "{FOLDER}/containerd"
state = "/run/containerd"
[grpc]
  address = "{CONTAINERD}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # Lowering an OOM score requires CAP_SYS_RESOURCE. Without this setting every pod would fail on machines without it.
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

# CoreDNS runs next to the API server; pods reach it at the usual address of a DNS Service.
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
        for what, step in {"network and file system": self.prepare,
                           "etcd, API server, controllers, CRDs": self.start_control_plane,
                           "containerd": self.start_containerd, "node": self.start_node,
                           "DNS": self.start_dns}.items():
            step()
            print(f"{time.monotonic() - began:5.1f} s  {what}", flush=True)

    # The methods below change only files, networks and mounts of these namespaces, not of the machine.

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
        # Packets to Services without rules of kube-proxy end at the bridge. No other destination has a route.
        command("ip", "route", "add", SERVICES, "dev", BRIDGE)
        self.make_cgroup()

    def mount(self):
        command("mount", "--make-rshared", "/")  # Kubelet requires it; this mount namespace is already separate.
        command("mount", "-t", "tmpfs", "tmpfs", "/run")
        for folder in ("/var/lib", "/var/log"):  # Some paths of kubelet are not configurable.
            upper, work = (pathlib.Path(f"/run/overlay{folder}/{part}") for part in ("upper", "work"))
            upper.mkdir(parents=True)
            work.mkdir()
            command("mount", "-t", "overlay", "-o", f"lowerdir={folder},upperdir={upper},workdir={work}", "overlay",
                    folder)
        for file, value in KUBELET_SETTINGS.items():
            self.override(pathlib.Path("/proc/sys") / file, value)
        (FOLDER / "resolv.conf").write_text(
            f"nameserver {DNS_ADDRESS}\nsearch default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n")

    def override(self, setting, value):
        """Hides a setting of the whole machine from kubelet, which would change it, behind a file with the value it requires."""
        if setting.exists():
            replacement = pathlib.Path("/run/settings") / setting.name
            replacement.parent.mkdir(exist_ok=True)
            replacement.write_text(f"{value}\n")
            command("mount", "--bind", replacement, setting)

    def make_cgroup(self):
        """Makes the cluster's control group. Version 2 has one hierarchy; version 1 has one for each controller."""
        if (CGROUPS / "cgroup.controllers").exists():
            enabled = (CGROUPS / "cgroup.subtree_control").read_text().split()
            for controller in {"cpu", "cpuset", "memory", "pids"}.difference(enabled):
                (CGROUPS / "cgroup.subtree_control").write_text(f"+{controller}")
            (CGROUPS / CGROUP).mkdir()
            return
        for tree in CGROUPS.iterdir():
            if tree.is_dir() and not tree.is_symlink() and (tree / "cgroup.procs").exists():
                (tree / CGROUP).mkdir(exist_ok=True)

    def start_control_plane(self):
        self.control_plane.__enter__()
        self.programs += self.control_plane.programs()
        listener = int(os.environ["LONGSHORE_CLUSTER_SOCKET"])  # A descriptor in the machine's network, for kubectl.
        self.run("relay", [sys.executable, pathlib.Path(__file__).with_name("relay.py"), listener, NODE_ADDRESS,
                           self.control_plane.ports[0].number], pass_fds=[listener])

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
            # Tests may run on a machine whose disk or memory is nearly full.
            "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
            # Often enough for tests that wait for the status.
            "nodeStatusUpdateFrequency": "2s", "syncFrequency": "5s"}

    def start_dns(self):
        config = FOLDER / "Corefile"
        config.write_text(COREDNS_CONFIG)
        coredns = self.run("coredns", [self.binaries / "coredns", "-conf", config])
        self.control_plane.kubectl("apply", "--server-side", "-f", "-", input=DNS_SERVICE)
        wait_for("CoreDNS", lambda: answers(f"http://{NODE_ADDRESS}:8181/ready"), START_MAX_S, [coredns])

    # While the cluster runs.

    def reap(self):
        """Reaps ended processes, including orphans. Records programs of the cluster that have ended, for `status`."""
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
            if left is None or left.si_pid in own:  # The cluster's own programs are reaped by the next call.
                return
            os.waitpid(left.si_pid, 0)


def end_with_the_starter():
    """Ends this process when the starter's end closes the input, unless "stay" was read before."""
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
