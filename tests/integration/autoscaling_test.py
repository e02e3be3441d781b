"""A fleet that grows and shrinks by the metrics that a real Prometheus collects from real nodes.

LONGSHORE_PROMETHEUS is the path of Prometheus.
"""

import pathlib
import shutil
import sys
import threading
import time
import unittest
import urllib.error

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))

from authority import Authority
from harness import MODELS, Installation, wait_for
from prometheus import Prometheus, prometheus_or_skip

CLIENTS = 8
STABILIZATION_S = 2


class Clients:
    """Clients that send more requests than one node can serve without a queue."""

    def __init__(self, installation):
        self.installation = installation
        self.errors = []
        self.ending = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(CLIENTS)]

    def run(self):
        while not self.ending.is_set():
            try:
                self.installation.predict("half", {"instances": [2.0]}, timeout_s=30)
            except urllib.error.HTTPError as error:
                self.errors.append(f"{error.code}: {error.read().decode()}")
            except Exception as error:  # Any exception means that a user got no answer.
                self.errors.append(repr(error))

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.ending.set()
        for thread in self.threads:
            if thread.ident is not None:
                thread.join()


class ScalingFleet(unittest.TestCase):
    """A base class: a fleet that scales by `self.prometheus`, and clients that overload one node."""

    def tls(self):
        """Returns the `tls` argument of Prometheus; None: plain HTTP."""

    def setUp(self):
        program = prometheus_or_skip(self)
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.prometheus = Prometheus(program, self.it.dir, {"longshore": self.it.state / "prometheus/nodes.json"}, tls=self.tls())
        self.addCleanup(self.prometheus.stop)
        self.clients = Clients(self.it)
        self.addCleanup(self.clients.stop)
        source = self.it.dir / "half"
        shutil.copytree(MODELS / "half_plus_two_tf2/1", source / "1")
        self.it.write_manifest("fleet.yaml", f"""apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {{name: cpu}}
spec:
  replicas: {{min: 1, max: 2}}
  ports: {{grpc: 0, rest: 0}}
  connectionAgeMax: 1s
  engine: {{concurrentRuns: 1, simulatedRun: 100ms}}
  autoscaling:
    queueDelay: 20ms
    utilization: 1
    prometheus: {{url: "{self.prometheus.url()}"}}
    metricsAgeMax: 4s
    scaleUpCooldown: 1s
    scaleDownStabilization: {STABILIZATION_S}s
""")
        self.it.apply_model("half", source, 1)

    def autoscale(self):
        return self.it.fleet_status().get("autoscale", {})

    def replicas(self):
        return self.it.fleet_status().get("replicas")


class Autoscaling(ScalingFleet):
    def test_nodes_are_added_on_measured_queue_delay_and_never_removed_without_a_measurement(self):
        self.prometheus.start()
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_answers("half", {"instances": [2.0]})
        self.assertEqual(self.replicas(), 1)

        self.clients.start()
        wait_for("the autoscaler to add a node", lambda: self.replicas() == 2)
        self.assertIn("QueueDelay", self.autoscale()["message"])
        self.it.wait_for_ready_nodes(2)

        self.prometheus.stop()
        self.clients.stop()
        self.assertEqual(self.clients.errors, [])
        wait_for("the measurements to be too old", lambda: self.autoscale()["reason"] == "NoEvidence")
        until = time.monotonic() + 4 * STABILIZATION_S
        while time.monotonic() < until:  # The fleet is idle, but without metrics the autoscaler cannot know this.
            self.assertEqual(self.replicas(), 2)
            self.assertEqual(self.autoscale()["desired"], 2)
            time.sleep(0.1)

        self.prometheus.start()
        wait_for("the idle node to leave", lambda: self.replicas() == 1, timeout_s=60)
        self.assertEqual(self.it.predict("half", {"instances": [2.0]}), {"predictions": [3.0]})


class AutoscalingByHttps(ScalingFleet):
    def tls(self):
        self.authority = Authority(self.it.dir / "pki")
        return *self.authority.certify("prometheus", addresses=["IP:127.0.0.1"]), self.authority.certificate

    def prometheus_error(self):
        lines = (self.it.dir / "controller.log").read_text().splitlines()
        return next((line for line in lines if "Prometheus at" in line), "")

    def test_the_certificate_of_prometheus_is_trusted_only_with_the_authority_in_the_flag(self):
        self.prometheus.start()
        self.it.start_controller()
        wait_for("the controller to log why its queries fail", self.prometheus_error)
        self.assertIn(self.prometheus.url(), self.prometheus_error())
        self.assertIn('the certificate "CN=prometheus" is not trusted: unable to get local issuer certificate', self.prometheus_error())

        self.it.kill_controller()
        self.it.start_controller(flags=[f"--prometheus_ca_file={self.authority.certificate}"])
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_answers("half", {"instances": [2.0]})
        self.clients.start()
        wait_for("the autoscaler to add a node", lambda: self.replicas() == 2)
        self.assertIn("QueueDelay", self.autoscale()["message"])
        self.clients.stop()
        self.assertEqual(self.clients.errors, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
