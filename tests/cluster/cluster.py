#!/usr/bin/env python3
"""A real Kubernetes of one node in separate Linux namespaces, without access to the machine's network.

    with Cluster() as cluster:
        cluster.load(archive)                       # An image archive from `docker save` or an OCI tool.
        cluster.kubectl("apply", "-f", "-", input=manifest)
        cluster.run_inside(["curl", "http://hello:8080"])

The cluster ends with the process that started it, even if that is killed. One started by `./dev cluster up` runs until
`./dev cluster down`. Needs root; see docs/cluster.md.
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
# Runs a command with the cluster's DNS configuration ($1).
INSIDE = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'


def find_container_tools():
    folder = pathlib.Path(os.environ.get("LONGSHORE_CONTAINERS") or CACHE / "containers")
    if not (folder / "usr/bin/containerd").exists():
        raise Failure(f"{folder}/usr/bin/containerd was not found: run ./dev cluster up, which unpacks it, "
                      "or set LONGSHORE_CONTAINERS to its folder")
    return folder


def check_machine():
    """Fails if this machine cannot run a cluster. Only an attempt shows whether namespaces are allowed."""
    for program in ("unshare", "nsenter", "ip", "openssl"):
        if shutil.which(program) is None:
            raise Failure(f"{program} is missing: run ./dev setup")
    tried = subprocess.run([*NAMESPACES, "mount", "-t", "tmpfs", "tmpfs", "/run"], capture_output=True, text=True,
                           check=False)
    if tried.returncode != 0:
        raise Failure("cannot create the namespaces that a cluster needs (requires root with CAP_SYS_ADMIN): "
                      f"{tried.stderr.strip()}")
    if not os.access(CGROUPS, os.W_OK):
        raise Failure(f"{CGROUPS} is not writable, but a cluster needs control groups")


def cgroups_of(folder):
    """The name of the control groups of the cluster in this folder, and their paths in all hierarchies."""
    name = "longshore-" + hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    return name, [path for path in (CGROUPS / name, *CGROUPS.glob(f"*/{name}")) if path.is_dir()]


def remove_cgroups(folder):
    """Returns False while a control group still has processes that are ending."""
    for top in cgroups_of(folder)[1]:
        for path, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(path)
    return not cgroups_of(folder)[1]


def remove(folder):
    """Waits for the end of a cluster's processes, then removes its control groups and files. Two processes may call it at
    the same time."""
    with contextlib.suppress(FileNotFoundError), open(folder / "alive", encoding="ascii") as alive:
        fcntl.flock(alive, fcntl.LOCK_SH)  # The cluster's first process holds this lock exclusively.
    wait_for("the cluster's control groups to be empty", lambda: remove_cgroups(folder), END_MAX_S)

    def gone():
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    wait_for(f"{folder} to be removed", gone, END_MAX_S)


class Cluster:
    """`folder`: for the cluster's files; it must not exist yet. Default: a temporary folder."""

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

    # Starting and stopping.

    def start(self, progress=lambda line: None):
        self.binaries, self.tools = find_binaries("pause", "coredns"), find_container_tools()
        check_machine()
        self.folder.mkdir(parents=True)
        with open(self.folder / "alive", "w") as alive, socket.create_server(("127.0.0.1", 0)) as listener:
            fcntl.flock(alive, fcntl.LOCK_EX)
            self._start_remover()
            self._start_first_process(alive, listener)
            port = listener.getsockname()[1]
        self._wait_until_ready(progress)
        inside = (self.folder / "admin-0.kubeconfig").read_text()
        server = next(line for line in inside.splitlines() if line.strip().startswith("server:"))
        self.kubeconfig.write_text(inside.replace(server, f"    server: https://127.0.0.1:{port}"))
        self.kubeconfig.chmod(0o600)

    def _start_remover(self):
        """Starts a process that removes what the cluster leaves, even if this process is killed."""
        self.remover = subprocess.Popen(
            [sys.executable, HERE / "cluster.py", "--folder", self.folder, "remove"], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _start_first_process(self, alive, listener):
        environment = {**os.environ, "LONGSHORE_CLUSTER": str(self.folder), "LONGSHORE_CONTAINERS": str(self.tools),
                       "LONGSHORE_KUBERNETES": str(self.binaries), "LONGSHORE_CLUSTER_SOCKET": str(listener.fileno()),
                       "LONGSHORE_CLUSTER_CGROUP": cgroups_of(self.folder)[0]}
        with open(self.folder / "init.log", "w") as log:
            self.starter = subprocess.Popen(
                [*NAMESPACES, sys.executable, HERE / "cluster_init.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True, bufsize=1, env=environment, pass_fds=[alive.fileno(), listener.fileno()],
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
        """Lets the cluster continue after the end of this process."""
        self.starter.stdin.write("stay\n")
        self.starter.stdin.close()

    # Methods for a cluster that any process has started.

    def pid(self):
        """A process in the cluster's namespaces; None if the cluster is not running."""
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
            os.kill(pid, signal.SIGKILL)  # Then the kernel ends all processes of the cluster.
        remove(self.folder)

    def ended(self):
        """The last log lines of the cluster's programs that have ended; "" if all are running."""
        path = self.folder / "ended"
        return path.read_text() if path.exists() else ""

    # Use.

    def kubectl(self, *words, input=None):
        return run_kubectl(self.folder, self.kubeconfig, *words, input=input)

    def load(self, archive):
        """Loads the images of an archive into the node. Pods need imagePullPolicy IfNotPresent or Never."""
        with open(archive, "rb") as file:
            done = subprocess.run(["nsenter", f"--target={self.pid()}", "--mount", find_container_tools() / "usr/bin/ctr",
                                   "-a", CONTAINERD, "-n", "k8s.io", "images", "import", "-"],
                                  stdin=file, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0:
            raise Failure(f"{archive} is not an image archive that containerd can read: {done.stderr.strip()}")
        return done.stdout

    def command_inside(self, words):
        """A command line that runs `words` in the cluster's network, where Services and pods can be reached by address and name."""
        return ["nsenter", f"--target={self.pid()}", "--net", "unshare", "--mount", "sh", "-c", INSIDE, "cluster",
                str(self.folder / "resolv.conf"), *map(str, words)]

    def environment_inside(self):
        return {**os.environ, "KUBECONFIG": str(self.folder / "admin-0.kubeconfig"),
                "KUBECACHEDIR": str(self.folder / "kubectl"), "PATH": f"{find_binaries()}:{os.environ.get('PATH', '')}"}

    def run_inside(self, words, **options):
        return subprocess.run(self.command_inside(words), env=self.environment_inside(), **options)

    def set_gpus(self, count):
        """Makes the node report `count` GPUs, which do not exist."""
        self.kubectl("patch", "node", "node", "--subresource=status", "--type=merge",
                     "-p", f'{{"status": {{"capacity": {{"nvidia.com/gpu": "{count}"}}}}}}')
        # Kubelet computes from the capacity what pods may request.
        wait_for("the node to offer the GPUs", lambda: self.kubectl(
            "get", "node", "node", "-o", r"jsonpath={.status.allocatable.nvidia\.com/gpu}") == str(count), END_MAX_S)


# ./dev cluster

USAGE = """    export KUBECONFIG={folder}/kubeconfig KUBECACHEDIR={folder}/kubectl PATH={binaries}:$PATH
    kubectl get pods -A                 kubectl and helm work from anywhere on this machine
    ./dev cluster load IMAGE.tar        loads an archive from `docker save` or buildah; pods need imagePullPolicy: IfNotPresent
    ./dev cluster exec curl http://SERVICE.NAMESPACE:PORT     runs a command in the cluster's network with its DNS
    ./dev cluster gpus 8                makes the node report eight GPUs
    ./dev cluster down                  stops and removes the cluster"""


def up(cluster, _words):
    if cluster.pid() is not None:
        print("the cluster is already up")
    else:
        if cluster.folder.exists():  # Left by a cluster that ended with a crash of the machine.
            remove(cluster.folder)
        with contextlib.ExitStack() as on_failure:
            on_failure.push(cluster)
            cluster.start(progress=lambda line: print(line, file=sys.stderr, flush=True))
            cluster.leave_running()
            on_failure.pop_all()
    print(USAGE.format(folder=cluster.folder, binaries=find_binaries()))


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
        raise Failure("some programs of the cluster have ended:\n" + cluster.ended())
    print(cluster.kubectl("get", "nodes,pods", "--all-namespaces", "-o", "wide"), end="")


def require_running(cluster):
    if cluster.pid() is None:
        raise Failure("the cluster is not up: run ./dev cluster up")


def load(cluster, words):
    require_running(cluster)
    if not words:
        raise Failure("load: give at least one archive")
    for archive in words:
        print(cluster.load(archive), end="")


def execute(cluster, words):
    require_running(cluster)
    command = cluster.command_inside(words or [os.environ.get("SHELL", "sh")])
    os.execvpe(command[0], command, cluster.environment_inside())


def gpus(cluster, words):
    require_running(cluster)
    if len(words) != 1 or not words[0].isdigit():
        raise Failure("gpus: give a number")
    cluster.set_gpus(int(words[0]))


VERBS = {"up": up, "down": down, "status": status, "load": load, "exec": execute, "gpus": gpus}


@contextlib.contextmanager
def one_at_a_time(folder):
    """Runs one `up` or `down` at a time; a second one waits for the first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main():
    parser = argparse.ArgumentParser(prog="./dev cluster", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--folder", type=pathlib.Path, default=CACHE / "cluster",
                        help="folder of the cluster's files (default: %(default)s)")
    parser.add_argument("verb", help=", ".join(VERBS))
    parser.add_argument("words", nargs=argparse.REMAINDER, help="load: archives; exec: a command; gpus: a number")
    options = parser.parse_args()
    cluster = Cluster(options.folder.resolve())
    if options.verb == "remove":  # Internal: see Cluster._start_remover.
        remove(cluster.folder)
    elif options.verb not in VERBS:
        parser.error(f"unknown verb {options.verb!r}; the verbs are {', '.join(VERBS)}")
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
