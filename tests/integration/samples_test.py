"""The manifests that we show to people are accepted on one host as they are. tests/crds applies them to an API server."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from harness import BIN
from samples import FOR_ONE_HOST, write_example


class Samples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def apply(self, path):
        done = subprocess.run([BIN / "longshore", "apply", "-f", path], capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "LONGSHORE_MANIFESTS": str(self.dir)})
        self.assertEqual(done.returncode, 0, f"{path}: {done.stderr}")
        return done.stdout

    def test_the_samples_for_one_host_are_accepted(self):
        self.assertGreaterEqual(len(FOR_ONE_HOST), 6)
        for path in FOR_ONE_HOST:
            self.apply(path)

    def test_the_example_of_the_help_is_accepted(self):
        self.assertEqual(self.apply(write_example(self.dir)).splitlines(),
                         ["ServingFleet default/cpu created", "Model default/digits created",
                          "no controller is running: this has no effect until one runs"])


if __name__ == "__main__":
    unittest.main()
