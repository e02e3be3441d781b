"""`longshore doctor` on a host, with real faults."""

import json
import os
import shutil
import socket
import subprocess
import sys
import pathlib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))

from authority import openssl
from harness import BIN, Installation, wait_for
from local_test import half_plus
from prometheus import Prometheus, free_port, prometheus_or_skip


class Doctor(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(self.it.dir)

    def serve(self, flags=()):
        self.it.apply_fleet()
        self.it.apply_model("half", self.source, 1, rollout={"strategy": "Immediate"})
        self.it.start_controller(flags=flags)
        waited = self.it.command("status", "--wait", "--timeout=40s")
        self.assertEqual(waited.returncode, 0, waited.stdout + waited.stderr)

    def findings(self, code):
        """The findings by name, after checking the exit code."""
        done = self.it.command("doctor", "-o", "json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}

    def failures(self):
        return {name: finding for name, finding in self.findings(code=1).items() if finding["verdict"] == "failure"}

    def test_all_is_well_and_nothing_is_changed(self):
        self.serve()
        objects = self.it.manifests / ".longshore/objects"
        before = {path: path.read_bytes() for path in objects.rglob("*.json")}
        found = self.findings(code=0)
        self.assertEqual({path: path.read_bytes() for path in objects.rglob("*.json")}, before)
        bad = {name: finding for name, finding in found.items()
               if finding["verdict"] != "ok" and finding["group"] != "Folders"}  # The test's disk may be nearly full.
        self.assertEqual(bad, {})
        self.assertEqual({finding["group"] for finding in found.values()},
                         {"Controller", "Manifests", "Ports", "Folders", "Fleets and models"})
        self.assertIn("Version of controller", found)
        self.assertIn("Version of node default.cpu-0", found)
        self.assertTrue(any("gRPC of fleet default/cpu" in name for name in found))

    def test_a_controller_that_was_killed(self):
        self.serve()
        self.it.kill_controller()
        failure = self.failures()["Sign of life"]
        self.assertIn("no controller is running; one was last active ", failure["cause"])
        self.assertIn(f"--manifests={self.it.manifests}", failure["cure"])

    def test_a_port_that_another_program_holds(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            self.it.apply_fleet(grpc=port)
            self.it.start_controller()
            wait_for("the fleet to report its port", lambda: str(port) in json.dumps(self.it.fleet_status()))
            found = self.failures()
        self.assertIn(f"(process {os.getpid()}) listens on it.", found[f"{port}, gRPC of fleet default/cpu"]["cause"])
        self.assertIn("no node is ready: ", found["fleet default/cpu"]["cause"])

    def test_a_broken_manifest_a_missing_folder_and_a_damaged_object(self):
        self.serve()
        path = self.it.manifests / "half.yaml"
        self.it.write_manifest("half.yaml", path.read_text() + "  colour: blue\n")
        wait_for("the mistake", lambda: "spec.colour" in self.failures().get("half.yaml", {}).get("cause", ""))
        shutil.rmtree(self.source)
        self.assertIn("No such file", self.failures()[f"{self.source}, source of model default/half"]["cause"])
        self.it.kill_controller()
        (self.it.manifests / ".longshore/objects/Model/default/half.json").write_text("{")
        self.assertIn("it cannot be read: ", self.failures()["Model default/half"]["cause"])

    def test_a_certificate_that_has_expired(self):
        certificate, key = self.it.dir / "node.crt", self.it.dir / "node.key"
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1", "-out", certificate,
                "-keyout", key)
        flags = [f"--node_flag=tls_cert_file={certificate}", f"--node_flag=tls_key_file={key}"]
        self.serve(flags)
        found = self.findings(code=0)[f"Certificate {certificate}"]
        self.assertEqual(found["verdict"], "warning", found)  # It expires within two weeks.
        openssl("x509", "-in", certificate, "-signkey", key, "-days", "-1", "-out", certificate)
        self.assertIn("it expired ", self.failures()[f"Certificate {certificate}"]["cause"])

    def scale_by(self, url):
        self.it.write_manifest("fleet.yaml", f"""apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {{name: cpu}}
spec:
  replicas: {{min: 1, max: 2}}
  ports: {{grpc: 0, rest: 0}}
  autoscaling: {{prometheus: {{url: "{url}"}}, metricsAgeMax: 15s}}
""")

    def test_a_prometheus_that_does_not_answer_and_one_that_does(self):
        program = prometheus_or_skip(self)
        self.scale_by(f"http://127.0.0.1:{free_port()}")
        self.it.start_controller()
        self.it.wait_for_ready_nodes(1)
        dead = next(finding for finding in self.failures().values() if finding["group"] == "Prometheus")
        self.assertIn("no answer: ", dead["cause"])
        prometheus = Prometheus(program, self.it.dir, {"longshore": self.it.state / "prometheus/nodes.json"})
        self.addCleanup(prometheus.stop)
        prometheus.start()
        self.scale_by(prometheus.url())
        name = f"{prometheus.url()} of fleet default/cpu"

        def verdict():
            done = self.it.command("doctor", "-o", "json")
            return {finding["name"]: finding["verdict"] for finding in json.loads(done.stdout)["findings"]}.get(name)

        wait_for("the metrics of the fleet", lambda: verdict() == "ok")

    def test_a_node_of_another_release_is_a_warning(self):
        self.serve()
        metrics = b"# x\nlongshore_build_info{version=\"0.0.1\",compiler=\"12\"} 1\n"
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(metrics) + metrics
        self.it.kill_controller()
        with socket.create_server(("127.0.0.1", 0)) as old:
            status = self.it.manifests / ".longshore/objects/ServingFleet/default/cpu.json"
            fleet = json.loads(status.read_text())
            fleet["status"]["nodes"][0]["adminAddress"] = f"127.0.0.1:{old.getsockname()[1]}"
            status.write_text(json.dumps(fleet))
            done = subprocess.Popen([BIN / "longshore", "doctor", f"--manifests={self.it.manifests}"], stdout=subprocess.PIPE,
                                    text=True)
            connection, _ = old.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)
            self.assertIn("Version of node default.cpu-0: it is 0.0.1, and this command line is ", done.communicate(timeout=30)[0])

    def test_the_marks_follow_the_locale(self):
        for locale, mark in (("C.UTF-8", "✗ Sign of life"), ("C", "FAIL Sign of life")):
            done = subprocess.run([BIN / "longshore", "doctor", f"--manifests={self.it.manifests}"], capture_output=True, text=True,
                                  env={**os.environ, "LC_ALL": locale}, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(mark, done.stdout)
            self.assertNotIn("\x1b", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
