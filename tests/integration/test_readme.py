"""The README's quick starts, run as they are written, without the lines that build the programs or need a cluster."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import BIN, MARK, processes_marked, wait_for
from prometheus import free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]


def block_of(heading):
    """The lines of the first block of commands below a heading of the README, without comments."""
    [section] = re.findall(rf"^## {re.escape(heading)}$(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S)
    block = re.search(r"^```sh\n(.*?)^```", section, re.M | re.S)[1]
    return [line.partition("  #")[0].rstrip() for line in block.splitlines()]


class Readme(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp())
        (self.dir / "tests").symlink_to(ROOT / "tests")
        shutil.copytree(ROOT / "deploy/samples", self.dir / "deploy/samples")
        # Ports that are free, in place of 8500 and 8501.
        self.ports = {"8500": str(free_port()), "8501": str(free_port())}
        fleet = self.dir / "deploy/samples/fleet.yaml"
        fleet.write_text(self.with_free_ports(fleet.read_text()))

    def tearDown(self):
        subprocess.run([BIN / "longshore-controller", f"--state_dir={self.dir / 'try/state'}", "--stop-fleets"], check=False,
                       capture_output=True, timeout=60)
        for pid in processes_marked(self.dir):
            os.kill(pid, 9)
        shutil.rmtree(self.dir)

    def with_free_ports(self, text):
        text = text.replace("longshore-controller ", "longshore-controller --admin_port=0 ")
        return re.sub("850[01]", lambda port: self.ports[port[0]], text)

    def run_lines(self, lines):
        """Runs the lines in one shell, in a folder like a clone. Returns what they print; a line that fails ends it."""
        script = self.with_free_ports("set -e\n" + "\n".join(lines))
        environment = {**os.environ, MARK: str(self.dir), "PATH": f"{BIN}:{os.environ['PATH']}"}
        printed = self.dir / "printed"  # A file: a pipe stays open as long as the controller, which the script leaves running.
        with printed.open("w") as out:
            ran = subprocess.run(["bash", "-c", script], cwd=self.dir, env=environment, stdout=out, stderr=subprocess.STDOUT,
                                 timeout=120, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(ran.returncode, 0, printed.read_text())
        return printed.read_text()

    def test_one_host(self):
        build, path, *lines = block_of("Quick start: one host")
        self.assertIn("./dev build release", build)
        self.assertIn("export PATH=", path)
        variable = path.replace(' PATH="$PWD/build/release/bin:$PATH"', "")
        printed = self.run_lines([variable, *lines])
        answer = json.loads(re.search(r"\{.*?\}", printed, re.S)[0])
        self.assertEqual(answer, {"predictions": [2.5, 3.0, 4.5]})
        self.assertIn("half-plus-two", printed.splitlines()[-1])
        wait_for("version 2 to serve", lambda: " 2 " in self.run_lines([variable, "longshore get models"]))

    def test_from_tensorflow_serving(self):
        [check, _node, convert] = block_of("Quick start: from TensorFlow Serving")
        (self.dir / "models.config").write_text(
            'model_config_list {config {name: "half", base_path: "/models/half", model_platform: "tensorflow"}}')
        check = check.replace("/models/my_model", str(ROOT / "tests/models/half_plus_two_tf2/1"))
        printed = self.run_lines([check, convert])
        self.assertIn("supported", printed)
        self.assertIn("kind: Model", printed)


if __name__ == "__main__":
    unittest.main()
