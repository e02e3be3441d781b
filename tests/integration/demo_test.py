"""./dev demo leaves no process and no folder behind when Ctrl-C interrupts it. Tested at two moments.

LONGSHORE_PROMETHEUS is the path of Prometheus.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from harness import BIN, MARK, ROOT, processes_marked, wait_for

INTERRUPTED = 130


class Interrupted(unittest.TestCase):
    def setUp(self):
        prometheus = os.environ.get("LONGSHORE_PROMETHEUS") or shutil.which("prometheus")
        if not prometheus:
            self.skipTest("no Prometheus: LONGSHORE_PROMETHEUS is not set and PATH has none")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ls_demo_"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.environment = {**os.environ, MARK: str(self.dir), "TMPDIR": str(self.dir), "LONGSHORE_BIN": str(BIN),
                            "LONGSHORE_PROMETHEUS": prometheus}

    def interrupt_when(self, text, times=1):
        """Starts the demo, interrupts it after it has printed `text`, and checks that nothing is left."""
        with open(self.dir / "out", "wb") as out:
            demo = subprocess.Popen([sys.executable, "-B", ROOT / "tests/demo/demo.py"], stdout=out, stderr=out,
                                    env=self.environment, start_new_session=True)
        self.addCleanup(self.kill_remaining_processes)
        wait_for(f"the demo to print {text}", lambda: text in (self.dir / "out").read_text(),
                 seen=lambda: (self.dir / "out").read_text()[-2000:])
        # The demo prints the name of a program before it starts the program.
        wait_for("the demo to start a program", lambda: len(processes_marked(self.dir)) > 1)
        for _ in range(times):
            demo.send_signal(signal.SIGINT)
        self.assertEqual(demo.wait(timeout=60), INTERRUPTED, (self.dir / "out").read_text()[-2000:])
        self.assertEqual(processes_marked(self.dir), {})
        self.assertEqual(list(self.dir.glob("longshore-*")), [])

    def kill_remaining_processes(self):
        for pid in processes_marked(self.dir):
            os.kill(pid, signal.SIGKILL)

    def test_interrupt_while_its_programs_start(self):
        self.interrupt_when("Programs: Prometheus")

    def test_two_interrupts_during_a_rollout(self):
        self.interrupt_when("v2: a better network", times=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
