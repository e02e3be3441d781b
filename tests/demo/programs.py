"""Finds, starts and stops the programs of the demo, including the nodes that the controller starts."""

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
    """An error that stops the demo; its text is shown to the user."""


class Interrupted(Exception):
    """One of SIGNALS arrived, for example by Ctrl-C."""


def end_on_signals():
    def interrupt(_number, _frame):
        raise Interrupted
    for number in SIGNALS:
        signal.signal(number, interrupt)


def ignore_signals():
    """Called before the programs are stopped, so that a second Ctrl-C cannot leave some of them running."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def find_programs():
    """The folder with the four programs: LONGSHORE_BIN if it is set, then the release build, then the dev build."""
    names = ["longshore-controller", "longshore-node", "longshore", "longshore-load"]
    folders = [os.environ.get("LONGSHORE_BIN"), ROOT / "build/release/bin", ROOT / "build/dev/bin"]
    for folder in filter(None, folders):
        folder = pathlib.Path(folder).resolve()
        if all((folder / name).exists() for name in names):
            return folder
    raise DemoError("the programs are not built: run ./dev build, or ./dev demo, which builds them")


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
            # The process name in parentheses may contain spaces; the fields after it do not.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(entry.name))
    return found


class Programs:
    """All descendants of this process. Orphans, such as the nodes of a killed controller, become children of this process."""

    def __init__(self, log_folder):
        self.log_folder = log_folder
        self.started = {}
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise DemoError("prctl(PR_SET_CHILD_SUBREAPER): " + os.strerror(ctypes.get_errno()))

    def start(self, name, command, **options):
        """Starts a program in a new session, so that Ctrl-C reaches only the demo, which then stops the programs in order."""
        log = open(self.log_folder / f"{name}.log", "ab")
        options.setdefault("stdout", log)
        process = subprocess.Popen([str(part) for part in command], stderr=log, start_new_session=True,
                                   stdin=options.pop("stdin", subprocess.DEVNULL), **options)
        log.close()
        self.started[name] = process
        return process

    def reap(self):
        """Reaps orphans that have ended. The programs started here are reaped by their Popen objects."""
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
                raise DemoError(f"{name} ended unexpectedly with exit code {code}. The end of its log:\n{tail}")

    def kill(self, name):
        """Ends a program with SIGKILL, so that it cleans up nothing, as in a crash."""
        process = self.started.pop(name)
        process.kill()
        process.wait()

    def end_all(self, timeout_s=20):
        """Ends the started programs first, because a controller would restart its nodes; then all orphans."""
        for process in self.started.values():
            if process.poll() is None:
                process.terminate()
        for process in self.started.values():
            wait_or_kill(process, timeout_s)
        self.started = {}
        deadline = time.monotonic() + timeout_s
        signalled = set()
        while pids := self._living_children():
            for pid in pids:
                late = time.monotonic() > deadline
                if late or pid not in signalled:
                    send(pid, signal.SIGKILL if late else signal.SIGTERM)
                    signalled.add(pid)
            time.sleep(0.05)

    def _living_children(self):
        self.reap()
        return children_of(os.getpid())


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def wait_or_kill(process, timeout_s):
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
