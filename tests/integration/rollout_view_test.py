"""`longshore rollout NAME --watch` during real rollouts, on a terminal and without one."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import unittest

from harness import BIN, Installation, wait_for
from local_test import half_plus

READ_MAX_S = 20
FRAMES_MAX = 100  # Without changes, the view redraws once a second.


class RolloutView(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(self.it.dir)
        self.it.apply_fleet()
        self.it.apply_model("half", self.source, 1)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)

    def begin(self, **rollout):
        self.it.apply_model("half", self.source, 2, {"hold": "100ms", "requestsMin": 1, **rollout})
        wait_for("the rollout", lambda: self.it.status("half")["rollout"].get("candidate") == 2)

    def begin_and_pause(self):
        self.begin(steps=[{"weight": 50, "pause": "Manual", "proof": "Sampled"}])
        wait_for("the step", lambda: self.it.phase("half") in ("Step", "Paused"))

    def watch(self, columns=None, rows=30, **environment):
        """Starts the command: with columns on a terminal of this size, else with a pipe."""
        command = [BIN / "longshore", "rollout", "half", "--watch", f"--manifests={self.it.manifests}"]
        environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment}
        if columns is None:
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment), None
        main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        started = subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment)
        os.close(terminal)
        return started, main

    @staticmethod
    def read(main):
        readable, _, _ = select.select([main], [], [], READ_MAX_S)
        assert readable, f"nothing was printed for {READ_MAX_S} s"
        return os.read(main, 65536)

    def read_until(self, main, *wanted):
        """Fails if the view waits for another rollout, because this one ended before the view looked."""
        seen = b""
        for _ in range(FRAMES_MAX):
            if any(text in seen for text in wanted):
                return seen
            seen += self.read(main)
        raise AssertionError(f"{wanted} was not printed: {seen[-500:].decode()}")

    def rest_of(self, main):
        text = b""
        for _ in range(FRAMES_MAX):
            try:
                text += self.read(main)
            except OSError:  # The command has ended.
                os.close(main)
                return text.decode()
        raise AssertionError(f"the command did not end: {text[-500:].decode()}")

    def test_ends_with_a_rollout_that_is_complete(self):
        self.begin_and_pause()
        watching, _ = self.watch()
        limit = threading.Timer(60, watching.kill)
        limit.start()
        shown = ""
        while "● now" not in shown:
            line = watching.stdout.readline()
            self.assertNotEqual(line, "", shown)  # It has ended.
            shown += line
        self.assertEqual(self.it.command("promote", "half").returncode, 0)
        shown += watching.stdout.read()
        limit.cancel()
        self.assertEqual(watching.wait(), 0, shown)
        self.assertTrue(shown.endswith("✓ The rollout is complete: version 2 serves all requests.\n"), shown[-300:])

    def test_ends_with_a_rollout_that_is_rolled_back(self):
        self.begin_and_pause()
        watching, _ = self.watch()
        self.assertEqual(self.it.command("abort", "half").returncode, 0)
        shown, _ = watching.communicate(timeout=40)
        self.assertEqual(watching.returncode, 1, shown)
        self.assertTrue(shown.endswith("✗ Version 2 was rolled back: version 1 serves all requests.\n"), shown[-300:])

    def test_a_script_does_not_wait_for_a_rollout_to_begin(self):
        watching, _ = self.watch()
        shown, _ = watching.communicate(timeout=20)
        self.assertEqual(watching.returncode, 0, shown)
        self.it.kill_controller()
        watching, _ = self.watch()
        shown, _ = watching.communicate(timeout=20)
        self.assertEqual(watching.returncode, 5, shown)

    def test_a_terminal_waits_for_a_rollout_and_shows_it_in_its_size(self):
        watching, main = self.watch(columns=50, rows=12)
        seen = self.read_until(main, b"waits for one", b"more lines")
        self.begin_and_pause()
        seen += self.read_until(main, b"It has been in step", b"gets 50")
        self.assertEqual(self.it.command("promote", "half").returncode, 0)
        shown = seen.decode() + self.rest_of(main)
        self.assertEqual(watching.wait(timeout=20), 0, shown[-500:])
        self.assertNotIn("\x1b[2J", shown)
        self.assertIn("\x1b[1m", shown)
        for frame in shown.split("\x1b[H")[1:]:
            lines = re.sub(r"\x1b\[[0-9;]*[mKJ]", "", frame).split("\r\n")
            self.assertLessEqual(len(lines), 12)
            self.assertLessEqual(max(map(len, lines)), 50)

    def test_a_terminal_ends_with_a_rollout_that_began_and_ended_before_the_view_looked_again(self):
        watching, main = self.watch(columns=150, rows=60)
        shown = self.read_until(main, b"waits for one").decode()
        watching.send_signal(signal.SIGSTOP)
        self.it.apply_model("half", self.source, 2, {"strategy": "Immediate"})
        self.it.wait_for_stable("half", 2)
        watching.send_signal(signal.SIGCONT)
        shown += self.rest_of(main)
        self.assertEqual(watching.wait(timeout=20), 0, shown[-500:])
        self.assertIn("The rollout is complete: version 2 serves all requests.", shown)

    def test_no_color_and_a_plain_locale_are_respected(self):
        watching, main = self.watch(columns=150, rows=60, NO_COLOR="1", LC_ALL="C")
        shown = self.read_until(main, b"waits for one").decode()
        self.begin_and_pause()
        shown += self.read_until(main, b"gets 50").decode()
        self.assertEqual(self.it.command("promote", "half").returncode, 0)
        shown += self.rest_of(main)
        self.assertEqual(watching.wait(timeout=20), 0)
        self.assertNotIn("\x1b[1m", shown)
        self.assertTrue(shown.isascii(), [character for character in shown if not character.isascii()][:5])


if __name__ == "__main__":
    unittest.main(verbosity=2)
