"""The scripts of `longshore completion` in real shells: someone types a part of a word and presses Tab."""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import BIN

MANIFEST = """apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: digits}
spec: {fleet: main, source: {uri: "file:///models/digits"}}
---
apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {name: main}
"""
WAIT_MAX_S = 20


class Shell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, command, environment):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment)

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, text):
        """Returns what the terminal shows up to this text."""
        shown, end = "", time.monotonic() + WAIT_MAX_S
        while text not in shown:
            ready, _, _ = select.select([self.terminal], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"waited {WAIT_MAX_S} s for {text!r}; the terminal shows {shown!r}")
            shown += os.read(self.terminal, 65536).decode(errors="replace")
        return shown


class Completion(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)
        manifests = self.dir / "manifests"
        manifests.mkdir()
        path = f"{BIN.resolve()}:{os.environ['PATH']}"
        self.environment = dict(os.environ, PATH=path, LONGSHORE_MANIFESTS=str(manifests), HOME=str(self.dir), TERM="dumb", PS1="> ")
        (self.dir / "objects.txt").write_text(MANIFEST)
        self.run_longshore("apply", "-f", str(self.dir / "objects.txt"))

    def run_longshore(self, *words):
        done = subprocess.run([BIN / "longshore", *words], env=self.environment, capture_output=True, text=True, check=True)
        return done.stdout

    def script(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(f"{shell} is not installed")
        path = self.dir / f"longshore.{shell}"
        path.write_text(self.run_longshore("completion", shell))
        return path

    def check_typing(self, shell):
        """Each row: what is typed before Tab, and what the shell adds to it."""
        for typed, added in (("longshore prom", "ote"), ("longshore get model dig", "its"), ("longshore -n default delete fleet/ma", "in"),
                             ("longshore get --sel", "ector"), ("longshore get models --output=js", "on"), ("longshore apply -f obj", "ects.txt"),
                             ("longshore-node --rest_api_po", "rt"), ("longshore-controller --state_d", "ir"),
                             ("longshore-load --rest_sh", "are"), ("longshore-load obj", "ects.txt")):
            with self.subTest(typed=typed):
                shell.type(f"{typed}\t")
                shell.read_until(typed + added)
                shell.type("\x15")  # Ctrl-U erases the line.

    def test_bash(self):
        script = self.script("bash")
        shell = Shell(["bash", "--norc", "--noprofile", "-i"], self.environment)
        self.addCleanup(shell.close)
        shell.type(f"cd {self.dir}; bind 'set bell-style none'; source {script}; echo rea''dy\n")
        shell.read_until("ready")
        self.check_typing(shell)

    def test_zsh(self):
        script = self.script("zsh")
        shell = Shell(["zsh", "-f", "-i"], self.environment)
        self.addCleanup(shell.close)
        shell.type(f"cd {self.dir}; autoload -Uz compinit; compinit -u; bindkey -e; source {script}; echo rea''dy\n")
        shell.read_until("ready")
        self.check_typing(shell)

    def test_fish(self):
        script = self.script("fish")
        for typed, expected in (("longshore prom", "promote"), ("longshore get model ", "digits"), ("longshore delete fleet/", "fleet/main"),
                                ("longshore get models --output=y", "--output=yaml"), ("longshore apply -f obj", "objects.txt"),
                                ("longshore-node --rest_api_po", "--rest_api_port"), ("longshore-load obj", "objects.txt")):
            with self.subTest(typed=typed):
                command = f"source {script}; complete -C '{typed}'"
                done = subprocess.run(["fish", "--no-config", "-c", command], cwd=self.dir, env=self.environment, capture_output=True, text=True, check=True)
                self.assertIn(expected, [line.split("\t")[0] for line in done.stdout.splitlines()], done.stderr)


if __name__ == "__main__":
    unittest.main()
