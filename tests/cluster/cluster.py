#!/usr/bin/env python3
"""A real Kubernetes of one node, in namespaces of its own: nothing of it can reach the machine's network or outlive it.

    with Cluster() as cluster:
        cluster.load(archive)                       # An image, as `docker save` or an OCI tool writes it.
        cluster.kubectl("apply", "-f", "-", input=manifest)
        cluster.run_inside(["curl", "http://hello:8080"])

or, until it is told otherwise, by ./dev cluster up. It needs root; see docs/cluster.md.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from program import CACHE, Failure, find_binaries, run_kubectl, wait_for

HERE = pathlib.Path(__file__).resolve().parent
CGROUPS = pathlib.Path("/sys/fs/cgroup")
NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"]
CONTAINERD = "/run/containerd/containerd.sock"
END_MAX_S = 30
# In the cluster's network, with its names.
INSIDE = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'


def find_container_tools():
    folder = pathlib.Path(os.environ.get("LONGSHORE_CONTAINERS") or CACHE / "containers")
    if not (folder / "usr/bin/containerd").exists():
        raise Failure(f"no {folder}/usr/bin/containerd: run ./dev cluster up, which unpacks it, "
                      "or name its folder in LONGSHORE_CONTAINERS")
    return folder


def check_machine():
    """Whether it lets us have a cluster; of namespaces only an attempt can tell."""
    for program in ("unshare", "nsenter", "ip", "openssl"):
        if shutil.which(program) is None:
            raise Failure(f"{program} is missing: run ./dev setup")
    tried = subprocess.run([*NAMESPACES, "mount", "-t", "tmpfs", "tmpfs", "/run"], capture_output=True, text=True,
                           check=False)
    if tried.returncode != 0:
        raise Failure("this machine does not let us have namespaces of our own, which a cluster needs "
                      f"(root, CAP_SYS_ADMIN): {tried.stderr.strip()}")
    if not os.access(CGROUPS, os.W_OK):
        raise Failure(f"{CGROUPS} cannot be written, and a cluster needs control groups")


def cgroups_of(folder):
    """The control groups of the cluster in this folder, in every tree that there is."""
    name = "longshore-" + hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    return name, [path for path in (CGROUPS / name, *CGROUPS.glob(f"*/{name}")) if path.is_dir()]


def remove_cgroups(folder):
    """False while something is still dying in one."""
    for top in cgroups_of(folder)[1]:
        for path, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(path)
    return not cgroups_of(folder)[1]


def remove(folder):
    """All that a cluster leaves in the machine, once its processes have ended; two may do it at once."""
    with contextlib.suppress(FileNotFoundError), open(folder / "alive", encoding="ascii") as alive:
        fcntl.flock(alive, fcntl.LOCK_SH)  # While the cluster lives its first process holds it alone.
    wait_for("the cluster's control groups to be empty", lambda: remove_cgroups(folder), END_MAX_S)

    def gone():
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    wait_for(f"{folder} to be removed", gone, END_MAX_S)


class Cluster:
    """`folder`: where it lives, not there yet; without it a temporary one."""

    def __init__(self, folder=None):
        self.folder = folder or pathlib.Path(tempfile.gettempdir()) / f"ls_cluster_{os.getpid()}_{time.monotonic_ns()}"
        self.kubeconfig = self.folder / "kubeconfig"
        self.starter = self.remover = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_failure):
        if self.starter is not None:
            self.starter.stdin.close()
            self.starter.wait(END_MAX_S)
            self.starter.stdout.close()
        if self.folder.exists():
            remove(self.folder)
        if self.remover is not None:
            self.remover.wait(END_MAX_S)

    # Its life.

    def start(self, progress=lambda line: None):
        self.binaries, self.tools = find_binaries("pause", "coredns"), find_container_tools()
        check_machine()
        self.folder.mkdir(parents=True)
        with open(self.folder / "alive", "w") as alive, socket.create_server(("127.0.0.1", 0)) as listening:
            fcntl.flock(alive, fcntl.LOCK_EX)
            self._start_remover()
            self._start_first_process(alive, listening)
            port = listening.getsockname()[1]
        self._wait_until_ready(progress)
        inside = (self.folder / "admin-0.kubeconfig").read_text()
        server = next(line for line in inside.splitlines() if line.strip().startswith("server:"))
        self.kubeconfig.write_text(inside.replace(server, f"    server: https://127.0.0.1:{port}"))
        self.kubeconfig.chmod(0o600)

    def _start_remover(self):
        """Removes what is left when the cluster ends in whatever way, even if nobody is there to call `remove`."""
        self.remover = subprocess.Popen(
            [sys.executable, HERE / "cluster.py", "--folder", self.folder, "remove"], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _start_first_process(self, alive, listening):
        environment = {**os.environ, "LONGSHORE_CLUSTER": str(self.folder), "LONGSHORE_CONTAINERS": str(self.tools),
                       "LONGSHORE_KUBERNETES": str(self.binaries), "LONGSHORE_CLUSTER_SOCKET": str(listening.fileno()),
                       "LONGSHORE_CLUSTER_CGROUP": cgroups_of(self.folder)[0]}
        with open(self.folder / "init.log", "w") as log:
            self.starter = subprocess.Popen(
                [*NAMESPACES, sys.executable, HERE / "cluster_init.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True, bufsize=1, env=environment, pass_fds=[alive.fileno(), listening.fileno()],
                start_new_session=True)
        (self.folder / "pid").write_text(f"{self.starter.pid}\n")

    def _wait_until_ready(self, progress):
        for line in self.starter.stdout:
            if line == "ready\n":
                return
            if line.startswith("failed: "):
                raise Failure("the cluster did not start: " + line.removeprefix("failed: ") + self.starter.stdout.read())
            progress(line.rstrip())
        raise Failure("the cluster did not start: " + (self.folder / "init.log").read_text())

    def leave_running(self):
        """It no longer ends with this process."""
        self.starter.stdin.write("stay\n")
        self.starter.stdin.close()

    # Of a cluster that somebody has started.

    def pid(self):
        """The process whose namespaces are the cluster's; None when it is not up."""
        try:
            with open(self.folder / "alive", encoding="ascii") as alive:
                fcntl.flock(alive, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except BlockingIOError:
            with contextlib.suppress(OSError, ValueError):
                return int((self.folder / "pid").read_text())
        except FileNotFoundError:
            pass
        return None

    def end(self):
        pid = self.pid()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)  # The kernel ends the first process in it, and with that all others.
        remove(self.folder)

    def ended(self):
        """What was said by programs of the cluster that are no longer running."""
        path = self.folder / "ended"
        return path.read_text() if path.exists() else ""

    # Use.

    def kubectl(self, *words, input=None):
        return run_kubectl(self.folder, self.kubeconfig, *words, input=input)

    def load(self, archive):
        """Makes the image(s) of an archive known to the node. Pods need imagePullPolicy IfNotPresent or Never."""
        with open(archive, "rb") as file:
            done = subprocess.run(["nsenter", f"--target={self.pid()}", "--mount", find_container_tools() / "usr/bin/ctr",
                                   "-a", CONTAINERD, "-n", "k8s.io", "images", "import", "-"],
                                  stdin=file, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0:
            raise Failure(f"{archive} is no image archive that containerd understands: {done.stderr.strip()}")
        return done.stdout

    def command_inside(self, words):
        """A command line that runs `words` in the cluster's network, where Services and pods have addresses and names."""
        return ["nsenter", f"--target={self.pid()}", "--net", "unshare", "--mount", "sh", "-c", INSIDE, "cluster",
                str(self.folder / "resolv.conf"), *map(str, words)]

    def environment_inside(self):
        return {**os.environ, "KUBECONFIG": str(self.folder / "admin-0.kubeconfig"),
                "KUBECACHEDIR": str(self.folder / "kubectl"), "PATH": f"{find_binaries()}:{os.environ.get('PATH', '')}"}

    def run_inside(self, words, **options):
        return subprocess.run(self.command_inside(words), env=self.environment_inside(), **options)

    def set_gpus(self, count):
        """The node says that it has so many; nothing else does."""
        self.kubectl("patch", "node", "node", "--subresource=status", "--type=merge",
                     "-p", f'{{"status": {{"capacity": {{"nvidia.com/gpu": "{count}"}}}}}}')
        # Kubelet derives from it what pods may ask for.
        wait_for("the node to offer the GPUs", lambda: self.kubectl(
            "get", "node", "node", "-o", r"jsonpath={.status.allocatable.nvidia\.com/gpu}") == str(count), END_MAX_S)


# ./dev cluster

HOW_TO_USE = """    export KUBECONFIG={folder}/kubeconfig KUBECACHEDIR={folder}/kubectl PATH={binaries}:$PATH
    kubectl get pods -A                 helm, too; it works from anywhere on this machine
    ./dev cluster load IMAGE.tar        what `docker save` or buildah wrote; pods need imagePullPolicy: IfNotPresent
    ./dev cluster exec curl http://SERVICE.NAMESPACE:PORT     a command in the cluster's network, with its names
    ./dev cluster gpus 8                the node says that it has eight GPUs
    ./dev cluster down"""


def up(cluster, _words):
    if cluster.pid() is not None:
        print("the cluster is already up")
    else:
        if cluster.folder.exists():  # Of one that a crash of the machine ended.
            remove(cluster.folder)
        with contextlib.ExitStack() as on_failure:
            on_failure.push(cluster)
            cluster.start(progress=lambda line: print(line, file=sys.stderr, flush=True))
            cluster.leave_running()
            on_failure.pop_all()
    print(HOW_TO_USE.format(folder=cluster.folder, binaries=find_binaries()))


def down(cluster, _words):
    if not cluster.folder.exists():
        print("the cluster is not up")
        return
    cluster.end()
    print("the cluster is down")


def status(cluster, _words):
    if cluster.pid() is None:
        raise Failure("the cluster is not up")
    if cluster.ended():
        raise Failure("not all of it is running:\n" + cluster.ended())
    print(cluster.kubectl("get", "nodes,pods", "--all-namespaces", "-o", "wide"), end="")


def is_up(cluster):
    if cluster.pid() is None:
        raise Failure("the cluster is not up: ./dev cluster up")


def load(cluster, words):
    is_up(cluster)
    if not words:
        raise Failure("load: say which archive")
    for archive in words:
        print(cluster.load(archive), end="")


def execute(cluster, words):
    is_up(cluster)
    command = cluster.command_inside(words or [os.environ.get("SHELL", "sh")])
    os.execvpe(command[0], command, cluster.environment_inside())


def gpus(cluster, words):
    is_up(cluster)
    if len(words) != 1 or not words[0].isdigit():
        raise Failure("gpus: say how many")
    cluster.set_gpus(int(words[0]))


VERBS = {"up": up, "down": down, "status": status, "load": load, "exec": execute, "gpus": gpus}


@contextlib.contextmanager
def one_at_a_time(folder):
    """A second `up` waits for the first, and then finds it up."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main():
    parser = argparse.ArgumentParser(prog="./dev cluster", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--folder", type=pathlib.Path, default=CACHE / "cluster", help="where the cluster lives [%(default)s]")
    parser.add_argument("verb", help=", ".join(VERBS))
    parser.add_argument("words", nargs=argparse.REMAINDER, help="load: archives; exec: a command; gpus: how many")
    options = parser.parse_args()
    cluster = Cluster(options.folder.resolve())
    if options.verb == "remove":  # Internal: see Cluster._start_remover.
        remove(cluster.folder)
    elif options.verb not in VERBS:
        parser.error(f"no verb {options.verb!r}; there are {', '.join(VERBS)}")
    elif options.verb in ("up", "down"):
        with one_at_a_time(cluster.folder):
            VERBS[options.verb](cluster, options.words)
    else:
        VERBS[options.verb](cluster, options.words)


if __name__ == "__main__":
    try:
        main()
    except (Failure, OSError) as failure:
        print(f"cluster: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
