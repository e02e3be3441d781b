"""./dev demo, interrupted: by Ctrl-C at three moments it leaves no process and no folder behind.

LONGSHORE_PROMETHEUS names the program.
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
            self.skipTest("LONGSHORE_PROMETHEUS names no Prometheus")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ls_demo_"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.environment = {**os.environ, MARK: str(self.dir), "TMPDIR": str(self.dir), "LONGSHORE_BIN": str(BIN),
                            "LONGSHORE_PROMETHEUS": prometheus}

    def interrupt_when(self, said, times=1):
        """Starts the demo, interrupts it when it has said this, and looks at what is left."""
        with open(self.dir / "out", "wb") as out:
            demo = subprocess.Popen([sys.executable, "-B", ROOT / "tests/demo/demo.py"], stdout=out, stderr=out,
                                    env=self.environment, start_new_session=True)
        self.addCleanup(self.kill_what_is_left)
        wait_for(f"the demo to say {said}", lambda: said in (self.dir / "out").read_text(),
                 seen=lambda: (self.dir / "out").read_text()[-2000:])
        # It says what it starts before it has started it.
        wait_for("the demo to start a program", lambda: len(processes_marked(self.dir)) > 1)
        for _ in range(times):
            demo.send_signal(signal.SIGINT)
        self.assertEqual(demo.wait(timeout=60), INTERRUPTED, (self.dir / "out").read_text()[-2000:])
        self.assertEqual(processes_marked(self.dir), {})
        self.assertEqual(list(self.dir.glob("longshore-*")), [])

    def kill_what_is_left(self):
        for pid in processes_marked(self.dir):
            os.kill(pid, signal.SIGKILL)

    def test_while_its_programs_start(self):
        self.interrupt_when("Programs: Prometheus")

    def test_under_load(self):
        self.interrupt_when("each of 100,000 users asks once")

    def test_twice_while_a_rollout_is_under_way(self):
        self.interrupt_when("v2: a better network", times=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
