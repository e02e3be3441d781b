"""The cluster under test: a temporary one in Linux namespaces of this machine, or an existing one named by a kubeconfig."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from cluster import Cluster
from program import Failure, find_binaries, run_kubectl

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = ("node", "controller")
TAGS = ("dev", "0.2.0")  # Both tags name the same image; an upgrade from one to the other shows which pods an upgrade restarts.
CLAIM = "models"

# A folder of this machine as a volume for many pods. It is created before its claim, because
# Kubernetes retries a claim without a volume only after a while.
VOLUME = """apiVersion: v1
kind: PersistentVolume
metadata: {{name: {namespace}-models}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadOnlyMany]
  storageClassName: ""
  hostPath: {{path: {folder}}}
  claimRef: {{namespace: {namespace}, name: {claim}}}
"""
VOLUME_CLAIM = """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {claim}, namespace: {namespace}}}
spec: {{accessModes: [ReadOnlyMany], storageClassName: "", volumeName: {namespace}-models, resources: {{requests: {{storage: 1Gi}}}}}}
"""


def processes_of(pod_uid):
    """The ids of Longshore's processes in a pod. The names of its control groups contain the pod's uid on every system."""
    names = (pod_uid, pod_uid.replace("-", "_"))
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            in_pod = any(name in (process / "cgroup").read_text() for name in names)
            if in_pod and (process / "comm").read_text().startswith("longshore"):
                found.append(int(process.name))
        except OSError:  # The process has ended.
            pass
    return found


class TargetCluster:
    """Runs kubectl and helm with this cluster, and programs that call its Services."""

    def __init__(self, folder, kubeconfig):
        self.folder, self.kubeconfig = folder, kubeconfig

    def kubectl(self, *words, input=None):
        return run_kubectl(self.folder, self.kubeconfig, *words, input=input)

    def environment(self):
        """The environment of programs of this machine that use the cluster."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def helm(self, *words):
        environment = {**self.environment(), "HELM_CACHE_HOME": str(self.folder / "helm"),
                       "HELM_CONFIG_HOME": str(self.folder / "helm"), "HELM_DATA_HOME": str(self.folder / "helm")}
        done = subprocess.run([find_binaries("helm") / "helm", *map(str, words)], env=environment, capture_output=True,
                              text=True, check=False, timeout=300)
        if done.returncode != 0:
            raise Failure(f"helm {words[0]}: {(done.stderr + done.stdout).strip()}")
        return done.stdout

    def api_of_kubeconfig(self):
        """The cluster and user of the current context. Certificates are inline, not paths."""
        config = json.loads(self.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
        user = config["users"][0]["user"]
        if not {"client-certificate-data", "token", "tokenFile"} & set(user):
            raise Failure(f"{self.kubeconfig}: the user has neither a client certificate nor a token; found {', '.join(user) or 'nothing'}")
        return config["clusters"][0]["cluster"], user


def prepare_cluster(cluster, folder, programs, namespace, log):
    """Loads the images into a temporary cluster, and creates the namespace and the claim with the models."""
    for name in IMAGES:
        subprocess.run([sys.executable, "-B", ROOT / "deploy/docker/image.py", name, f"--bin={programs}",
                        f"--output={folder / 'images'}", f"--version={TAGS[1]}", "--revision=e2e"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
        cluster.load(folder / f"images/longshore-{name}.tar")
    log("the images of the controller and the node are loaded")
    models = folder / "models"
    shutil.copytree(ROOT / "tests/models/digits", models / "digits")
    shutil.copytree(ROOT / "tests/models/half_plus_two_tf2/1", models / "halves/1")
    create_namespace_with_models(cluster, namespace, models)


def create_namespace_with_models(cluster, namespace, models):
    """Creates the namespace, and in it the claim CLAIM of a volume that shows the folder `models`."""
    for path in [models.parent, models, *models.rglob("*")]:
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    volume = {"folder": models, "namespace": namespace, "claim": CLAIM}
    cluster.kubectl("create", "namespace", namespace)
    cluster.kubectl("apply", "-f", "-", input=VOLUME.format(**volume))
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Available", f"persistentvolume/{namespace}-models", "--timeout=60s")
    cluster.kubectl("apply", "-f", "-", input=VOLUME_CLAIM.format(**volume))
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", f"persistentvolumeclaim/{CLAIM}",
                    "--namespace", namespace, "--timeout=60s")


class TemporaryCluster(TargetCluster):
    """A cluster that is created for the scenario and removed after it."""

    service_type = "ClusterIP"
    is_temporary = True
    can_stop_the_api = True
    restarts_in_place = True  # kubelet restarts a killed program in the same pod.

    def __init__(self, folder, programs):
        self.cluster = Cluster(folder / "cluster")
        super().__init__(folder, self.cluster.kubeconfig)
        self.programs = programs

    def start(self, namespace, log):
        self.cluster.__enter__()
        log("a cluster of one node is running")
        prepare_cluster(self.cluster, self.folder, self.programs, namespace, log)

    def end(self):
        self.cluster.__exit__()

    def command_inside(self, command):
        return self.cluster.command_inside(command)

    def address(self, name, _protocol):
        """The address in the fleet's status, which is a DNS name that programs in the cluster can resolve."""
        return name

    def kill(self, pod):
        """Sends SIGKILL to Longshore's program in the pod; kubelet restarts it in the same pod."""
        pids = processes_of(pod["metadata"]["uid"])
        if not pids:
            raise Failure(f"no process of Longshore was found in pod {pod['metadata']['name']}")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def stop_api(self):
        self._signal_api(signal.SIGSTOP)

    def continue_api(self):
        self._signal_api(signal.SIGCONT)

    def _signal_api(self, number):
        inside = self.cluster.pid()
        namespace = os.readlink(f"/proc/{inside}/ns/net")
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().split(b"\0")
                if b"kube-apiserver" in command and os.readlink(process / "ns/net") == namespace:
                    os.kill(int(process.name), number)
            except OSError:  # The process has ended.
                pass


class ExistingCluster(TargetCluster):
    """An existing cluster, which can pull the images and has the claim of the models in the namespace."""

    service_type = "NodePort"
    is_temporary = False
    can_stop_the_api = False
    restarts_in_place = False

    def __init__(self, folder, kubeconfig):
        super().__init__(folder, kubeconfig)

    def start(self, namespace, log):
        self.namespace = namespace
        self.kubectl("get", "persistentvolumeclaim", CLAIM, "--namespace", namespace)
        log(f"using the cluster of {self.kubeconfig}")

    def end(self):
        """Removes what an unfinished scenario has created."""
        self.kubectl("delete", "models,servingfleets", "--all", "--namespace", self.namespace, "--ignore-not-found")
        if "longshore" in self.helm("list", "--namespace", self.namespace, "--short"):
            self.helm("uninstall", "longshore", "--namespace", self.namespace)

    def command_inside(self, command):
        return list(map(str, command))

    def address(self, name, protocol):
        service = json.loads(self.kubectl("get", "service", name.split(".")[0], "--namespace", self.namespace, "-o", "json"))
        port = next(port["nodePort"] for port in service["spec"]["ports"] if port["name"] == protocol)
        node = json.loads(self.kubectl("get", "nodes", "-o", "json"))["items"][0]
        host = next(entry["address"] for entry in node["status"]["addresses"] if entry["type"] == "InternalIP")
        return f"{host}:{port}"

    def kill(self, pod):
        self.kubectl("delete", "pod", pod["metadata"]["name"], "--namespace", pod["metadata"]["namespace"], "--force",
                     "--grace-period=0", "--wait=false")
