"""Programs that a test starts: they end with it, whatever ends it, and their logs explain what went wrong."""

import os
import pathlib
import signal
import subprocess
import time

TAIL_LINES = 15
KUBECTL_MAX_S = 180
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "longshore"


class Failure(Exception):
    """What went wrong, in words for the person who started it."""


def ends_with_its_starter(command):
    """The command as one that the kernel kills when the thread that started it ends, also by SIGKILL.

    By a program and not by `preexec_fn`: that makes Python fork, and libraries that have threads, gRPC's among them, may then
    end the new process before it begins.
    """
    return ["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)]


class Program:
    """A running program; its output is in NAME.log of the folder, its process id in NAME.pid."""

    def __init__(self, folder, name, command, pass_fds=()):
        self.name, self.log = name, folder / f"{name}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(ends_with_its_starter(command), stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, pass_fds=pass_fds)
        (folder / f"{name}.pid").write_text(f"{self.process.pid}\n")

    def tail(self):
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return f"the last lines of {self.name}:\n" + "\n".join("    " + line[:400] for line in lines)

    def check(self):
        status = self.process.poll()
        if status is not None:
            raise Failure(f"{self.name} ended with status {status}; {self.tail()}")

    def end(self, signal_number=signal.SIGKILL, timeout_s=20):
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure(f"{self.name} did not end within {timeout_s} s of signal {signal_number}; {self.tail()}") from None


def wait_for(what, condition, timeout_s, programs=()):
    """The first true answer of `condition`. A program that ends meanwhile, and the time limit, are failures with logs."""
    end = time.monotonic() + timeout_s
    while True:
        for program in programs:
            program.check()
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            tails = "\n".join(program.tail() for program in programs)
            raise Failure(f"waited {timeout_s} s for {what}\n{tails}".rstrip())
        time.sleep(0.02)


def find_binaries(*more):
    """The folder with kube, etcd, kubectl (and more): LONGSHORE_KUBERNETES, or what ./dev built last."""
    folder = pathlib.Path(os.environ.get("LONGSHORE_KUBERNETES") or CACHE / "kubernetes/bin").resolve()
    for name in ("kube", "etcd", "kubectl", *more):
        if not os.access(folder / name, os.X_OK):
            raise Failure(f"no program {folder / name}: run ./dev setup, which builds it, "
                          "or name its folder in LONGSHORE_KUBERNETES")
    return folder


def run_kubectl(folder, kubeconfig, *words, input=None):
    """What kubectl prints; a failure carries what it says.

    It remembers the kinds of a server by its port, and the next server on that port has others: so only in this folder.
    """
    done = subprocess.run([find_binaries() / "kubectl", f"--kubeconfig={kubeconfig}", *words], input=input,
                          capture_output=True, text=True, check=False, timeout=KUBECTL_MAX_S,
                          env={**os.environ, "KUBECACHEDIR": str(folder / "kubectl")})
    if done.returncode != 0:
        raise Failure(f"kubectl {' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
