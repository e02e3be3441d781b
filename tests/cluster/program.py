"""Programs that a test starts. They end with the test, even if it is killed; failures show the end of their logs."""

import os
import pathlib
import signal
import subprocess
import time

TAIL_LINES = 15
KUBECTL_MAX_S = 180
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "longshore"


class Failure(Exception):
    """An error whose text is shown to the user."""


def kill_with_parent(command):
    """Returns a command line whose process the kernel kills when the thread that started it ends, even by SIGKILL.

    It uses setpriv instead of `preexec_fn`: with `preexec_fn` Python forks, and libraries with threads, such as gRPC, may then
    end the new process before it runs the command.
    """
    return ["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)]


class Program:
    """A running program. `folder` has its output in NAME.log and its process id in NAME.pid."""

    def __init__(self, folder, name, command, pass_fds=()):
        self.name, self.log = name, folder / f"{name}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(kill_with_parent(command), stdout=log, stderr=log,
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
    """Polls `condition` and returns its first true result. Raises Failure at the timeout, or if one of `programs` ends."""
    end = time.monotonic() + timeout_s
    while True:
        for program in programs:
            program.check()
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            tails = "\n".join(program.tail() for program in programs)
            raise Failure(f"timed out after {timeout_s} s waiting for {what}\n{tails}".rstrip())
        time.sleep(0.02)


def find_binaries(*more):
    """The folder with kube, etcd, kubectl and `more`: LONGSHORE_KUBERNETES, or the last build of ./dev setup."""
    folder = pathlib.Path(os.environ.get("LONGSHORE_KUBERNETES") or CACHE / "kubernetes/bin").resolve()
    for name in ("kube", "etcd", "kubectl", *more):
        if not os.access(folder / name, os.X_OK):
            raise Failure(f"the program {folder / name} was not found: run ./dev setup, which builds it, "
                          "or set LONGSHORE_KUBERNETES to its folder")
    return folder


def run_kubectl(folder, kubeconfig, *words, input=None):
    """Returns the output of kubectl. Raises Failure with its error message.

    kubectl caches the kinds of a server by address and port. The cache is in `folder`, because another test's server on the
    same port may have other kinds.
    """
    done = subprocess.run([find_binaries() / "kubectl", f"--kubeconfig={kubeconfig}", *words], input=input,
                          capture_output=True, text=True, check=False, timeout=KUBECTL_MAX_S,
                          env={**os.environ, "KUBECACHEDIR": str(folder / "kubectl")})
    if done.returncode != 0:
        raise Failure(f"kubectl {' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
