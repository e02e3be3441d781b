"""The programs of the demo: found, started, and all gone at the end, also those that the controller started."""

import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
ROOT = pathlib.Path(__file__).resolve().parents[2]


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DemoError(Exception):
    """What stops the demo, in words for the person in front of it."""


class Interrupted(Exception):
    """Ctrl-C, or somebody told us to end."""


def end_on_signals():
    def interrupt(_number, _frame):
        raise Interrupted
    for number in SIGNALS:
        signal.signal(number, interrupt)


def ignore_signals():
    """While everything is being ended: a second Ctrl-C must not leave half of it behind."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def find_programs():
    """The folder with the four programs: LONGSHORE_BIN, or the newest build."""
    names = ["longshore-controller", "longshore-node", "longshore", "longshore-load"]
    folders = [os.environ.get("LONGSHORE_BIN"), ROOT / "build/release/bin", ROOT / "build/dev/bin"]
    for folder in filter(None, folders):
        folder = pathlib.Path(folder).resolve()
        if all((folder / name).exists() for name in names):
            return folder
    raise DemoError("the programs are not built: run ./dev build, or ./dev demo, which does it")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children_of(pid):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name in parentheses may hold spaces; what follows it does not.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(entry.name))
    return found


class Programs:
    """Every process below this one. Orphans (the nodes of a killed controller) become its children too."""

    def __init__(self, log_folder):
        self.log_folder = log_folder
        self.started = {}
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise DemoError("prctl(PR_SET_CHILD_SUBREAPER): " + os.strerror(ctypes.get_errno()))

    def start(self, name, command, **options):
        """Starts a program in a session of its own, so that Ctrl-C reaches only the demo, which ends it in order."""
        log = open(self.log_folder / f"{name}.log", "ab")
        options.setdefault("stdout", log)
        process = subprocess.Popen([str(part) for part in command], stderr=log, start_new_session=True,
                                   stdin=options.pop("stdin", subprocess.DEVNULL), **options)
        log.close()
        self.started[name] = process
        return process

    def reap(self):
        """Collects orphans that have ended. The ones started here belong to their Popen."""
        own = {process.pid for process in self.started.values()}
        for pid in children_of(os.getpid()):
            if pid in own:
                continue
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass

    def check_alive(self, *names):
        for name in names:
            code = self.started[name].poll()
            if code is not None:
                tail = (self.log_folder / f"{name}.log").read_text(errors="replace")[-1500:]
                raise DemoError(f"{name} ended with {code}:\n{tail}")

    def kill(self, name):
        """As a crash would: SIGKILL, nothing is cleaned up."""
        process = self.started.pop(name)
        process.kill()
        process.wait()

    def end_all(self, patience_s=20):
        """The given ones first, because a controller would start its nodes again; then every orphan. None is left."""
        for process in self.started.values():
            if process.poll() is None:
                process.terminate()
        for process in self.started.values():
            wait_or_kill(process, patience_s)
        self.started = {}
        deadline = time.monotonic() + patience_s
        told = set()
        while pids := self._living_children():
            for pid in pids:
                late = time.monotonic() > deadline
                if late or pid not in told:
                    send(pid, signal.SIGKILL if late else signal.SIGTERM)
                    told.add(pid)
            time.sleep(0.05)

    def _living_children(self):
        self.reap()
        return children_of(os.getpid())


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def wait_or_kill(process, patience_s):
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
