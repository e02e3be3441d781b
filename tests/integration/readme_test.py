"""The README's quick starts of one host, run as they are written except for the line that builds the programs. tests/e2e runs the
quick start of Kubernetes."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from harness import BIN, MARK, processes_marked, wait_for
from prometheus import free_port
from readme import LINES_MAX, QUICK_STARTS, ROOT, block_of, raw_block_of


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
        text = re.sub(r"(longshore-controller|longshore-node) ", r"\1 --admin_port=0 ", text)
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

    def ask(self, path, body=None):
        """The answer of the REST port; None if it does not answer with success."""
        try:
            with urllib.request.urlopen(f"http://localhost:{self.ports['8501']}/v1/models/{path}", data=body, timeout=10) as answer:
                return json.loads(answer.read())
        except (urllib.error.URLError, ConnectionError):
            return None

    def state_of(self, model):
        return [version["state"] for version in (self.ask(model) or {}).get("model_version_status", [])]

    def test_from_tensorflow_serving(self):
        lines = block_of("Quick start: from TensorFlow Serving")
        self.assertEqual([line.split()[0] for line in lines], ["longshore", "longshore-node", "longshore"])
        base = self.dir / "my_model"
        shutil.copytree(ROOT / "tests/models/half_plus_two_tf2", base)
        (self.dir / "models.config").write_text(
            f'model_config_list {{config {{name: "my_model", base_path: "{base}", model_platform: "tensorflow"}}}}')
        printed = self.run_lines([line.replace("/models/my_model", str(base / "1")) for line in lines])
        self.assertIn("supported", printed)
        self.assertIn("kind: Model", printed)
        wait_for("the node to serve the model", lambda: self.state_of("my_model") == ["AVAILABLE"])
        self.assertEqual(self.ask("my_model:predict", b'{"instances": [1.0, 2.0, 5.0]}'), {"predictions": [2.5, 3.0, 4.5]})
        [node] = processes_marked(self.dir)
        os.kill(node, signal.SIGTERM)
        wait_for("the node to end", lambda: not processes_marked(self.dir))

    def test_each_block_is_short(self):
        for heading in QUICK_STARTS:
            self.assertLessEqual(len(raw_block_of(heading)), LINES_MAX, heading)


if __name__ == "__main__":
    unittest.main()
