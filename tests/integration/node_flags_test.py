"""Settings of the nodes of a local fleet that are not in the fleet manifest: TLS, tokens, captures; and Models without warm-up.

Run: python3 tests/integration/node_flags_test.py
"""

import json
import shutil
import ssl
import sys
import unittest
import urllib.error
import urllib.request

from harness import MODELS, ROOT, Installation, wait_for

sys.path.insert(0, str(ROOT / "tests/conformance"))
from certificates import Authority  # noqa: E402

CLIENT, PEER = "client-token-0123456789", "peer-token-0123456789"


class NodeFlags(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = self.it.dir / "half"
        shutil.copytree(MODELS / "half_plus_two_tf2/1", self.source / "1")

    def secured(self) -> list[str]:
        """Returns the flags for TLS with client certificates and for tokens, both for clients and between nodes."""
        it, self.authority = self.it.dir, Authority(self.it.dir)
        for name in ("node", "client"):
            self.authority.sign(name)
        (it / "clients.txt").write_text(f"client {CLIENT}\n")
        (it / "peers.txt").write_text(f"fleet {PEER}\n")
        return [f"--node_flag={flag}" for flag in (
            f"tls_cert_file={it}/node.crt", f"tls_key_file={it}/node.key", f"tls_client_ca_file={it}/ca.crt",
            f"auth_tokens_file={it}/clients.txt", f"peer_tokens_file={it}/peers.txt",
            f"capture_dir={it}/captures/{{node}}")]

    def context(self, with_certificate: bool = True) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.it.dir / "ca.crt")
        if with_certificate:
            context.load_cert_chain(self.it.dir / "client.crt", self.it.dir / "client.key")
        return context

    def ask(self, token: str, context: ssl.SSLContext):
        """Returns the answer and the name of the node that sent it."""
        address = self.it.fleet_status()["restAddress"]
        request = urllib.request.Request(f"https://{address}/v1/models/half:predict", data=b'{"instances": [2.0]}',
                                         headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=10, context=context) as response:
            return json.loads(response.read()), response.headers["x-longshore-node"]

    def test_a_fleet_serves_over_tls_to_clients_with_certificate_and_token_and_between_its_nodes(self):
        self.it.apply_fleet(nodes=2)
        self.it.apply_model("half", self.source, 1)
        self.it.start_controller(flags=self.secured())
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_ready_nodes(2)
        reached = set()

        def both():
            try:
                answer, node = self.ask(CLIENT, self.context())
            except urllib.error.HTTPError as error:  # The status is written before the nodes receive the new version.
                self.assertIn(error.code, (404, 503))
                return False
            self.assertEqual(answer, {"predictions": [3.0]})
            reached.add(node)
            return len(reached) == 2

        wait_for("both nodes to answer", both, seen=lambda: reached)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.ask(PEER, self.context())
        self.assertEqual(refused.exception.code, 401)
        with self.assertRaises((ssl.SSLError, urllib.error.URLError, ConnectionError)):
            self.ask(CLIENT, self.context(with_certificate=False))
        with self.assertRaises((urllib.error.URLError, ConnectionError)):
            self.it.predict("half", {"instances": [2.0]})

    def test_node_in_a_flag_is_replaced_by_the_name_of_the_node(self):
        # Version 4 of digits answers an image of the traffic with NaN. As the only version it is stable, and the request is captured.
        image = int((MODELS / "digits/traffic_nan.txt").read_text().split()[0])
        pixels = (MODELS / "digits/traffic.f32").read_bytes()[256 * image:256 * (image + 1)]
        shutil.copytree(MODELS / "digits/4", self.it.dir / "digits/4")
        self.it.apply_fleet()
        self.it.apply_model("digits", self.it.dir / "digits", 4)
        self.it.start_controller(flags=[f"--node_flag=capture_dir={self.it.dir}/captures/{{node}}"])
        self.it.wait_for_stable("digits", 4)
        floats = memoryview(pixels).cast("f").tolist()
        rows = [[[floats[8 * row + column]] for column in range(8)] for row in range(8)]
        self.it.wait_for_answers("digits", {"instances": [rows]})
        (node,) = self.it.node_pids()
        wait_for("a bundle", lambda: list((self.it.dir / "captures" / node).glob("*-digits-4-NON_FINITE.bundle")))

    def test_a_node_flag_that_the_controller_sets_itself_is_rejected_at_start(self):
        for flag, message in (("fleet=a/b", "--node_flag=fleet=a/b: the controller sets --fleet itself"),
                           ("--port=1", "--node_flag=--port=1: must be NAME=VALUE or NAME, without dashes")):
            self.assertEqual(self.it.start_controller(flags=[f"--node_flag={flag}"]).wait(10), 1)
            self.assertIn(message, (self.it.dir / "controller.log").read_text())

    def test_a_model_without_warm_up_ignores_its_warm_up_file(self):
        assets = self.source / "1/assets.extra"
        assets.mkdir()
        (assets / "tf_serving_warmup_requests").write_text("not a TFRecord")
        self.it.apply_fleet()
        self.it.apply_model("cold", self.source, 1, extra="  warmup: {source: None}\n")
        self.it.apply_model("warm", self.source, 1, extra="  warmup: {source: Assets}\n")
        self.it.start_controller()
        self.it.wait_for_stable("cold", 1)
        self.it.wait_for_answers("cold", {"instances": [2.0]})
        wait_for("the damaged warm-up file to be reported", lambda: "verify your warmup data" in json.dumps(self.it.status("warm")),
                 seen=lambda: self.it.status("warm"))


if __name__ == "__main__":
    unittest.main()
