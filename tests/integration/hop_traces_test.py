"""Traces across the nodes of a fleet: the span of a hop is the parent of the peer's span."""

import json
import pathlib
import secrets
import sys
import unittest
import urllib.request

from harness import Installation, wait_for
from local_test import half_plus

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
from otlp_sink import running_sink  # noqa: E402

NODES = 5
HOP = "tensorflow.serving.PredictionService/Predict"
SERVER, CLIENT = 2, 3
CALLER = bytes.fromhex("00f067aa0ba902b7")  # The span of the client.


class Traces(unittest.TestCase):
    """Five nodes, of which one holds the model, and three are its home nodes."""

    def setUp(self):
        running = running_sink()
        self.sink = running.__enter__()
        self.addCleanup(running.__exit__, None, None, None)
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.it.apply_fleet(nodes=NODES)
        self.it.apply_model("half", half_plus(pathlib.Path(self.it.dir)), 1, extra="  replicas: 1\n")
        self.it.start_controller(env={"OTEL_BSP_SCHEDULE_DELAY": "20"}, flags=[f"--node_flag=otel_exporter_otlp_endpoint={self.sink.url}"])
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_ready_nodes(NODES)
        self.it.wait_for_answers("half", {"instances": [2.0]})

    def ask(self, sampled=1):
        """Sends a request with a new context. Returns the id of its trace."""
        trace_id = secrets.token_hex(16)
        sent = urllib.request.Request(
            f"http://{self.it.fleet_status()['restAddress']}/v1/models/half:predict", json.dumps({"instances": [2.0]}).encode(),
            {"traceparent": f"00-{trace_id}-{CALLER.hex()}-{sampled:02x}", "tracestate": "rojo=1\t , congo=2"})
        with urllib.request.urlopen(sent, timeout=30) as answer:
            self.assertEqual(json.loads(answer.read()), {"predictions": [3.0]})
        return trace_id

    def whole_trace(self, trace_id):
        """Waits until all spans of the trace have arrived, which several nodes send. Returns them."""
        def is_connected():
            spans = [span for span in self.sink.spans() if span.trace_id.hex() == trace_id]
            known = {span.span_id for span in spans} | {CALLER}
            return any(span.name == "run" for span in spans) and all(span.parent_span_id in known for span in spans)
        self.sink.until(is_connected)
        hops = sum(span.kind == CLIENT for span in self.sink.trace(trace_id, 1))
        return self.sink.trace(trace_id, 3 + 2 * hops)

    def traces_by_hops(self):
        """Sends requests until one ran where it arrived, one was forwarded once and one twice. Returns hops -> spans."""
        traces = {}

        def all_seen():
            spans = self.whole_trace(self.ask())
            traces[sum(span.kind == CLIENT for span in spans)] = spans
            return set(traces) >= {0, 1, 2}
        wait_for("requests with 0, 1 and 2 hops", all_seen, seen=lambda: sorted(traces))
        return traces

    def test_a_hop_is_the_parent_of_the_span_at_the_peer(self):
        for hops, spans in self.traces_by_hops().items():
            self.assertEqual({span.trace_state for span in spans}, {"rojo=1,congo=2"})
            by_id = {span.span_id: span for span in spans}
            servers = [span for span in spans if span.kind == SERVER]
            clients = [span for span in spans if span.kind == CLIENT]
            self.assertEqual((len(servers), len(clients)), (hops + 1, hops))
            first, = [span for span in servers if span.name == "POST /v1/models/{model}:predict"]
            self.assertEqual(first.parent_span_id, CALLER)
            for server in servers:
                if server is not first:
                    self.assertEqual((server.name, by_id[server.parent_span_id].kind), (HOP, CLIENT))
            self.assertEqual({by_id[client.parent_span_id].kind for client in clients}, {SERVER} if clients else set())
            run, = [span for span in spans if span.name == "run"]
            self.assertEqual(by_id[run.parent_span_id].kind, SERVER)
            nodes = {each.value.string_value for request in self.sink.requests for ours in request.resource_spans
                     for each in ours.resource.attributes if each.key == "service.instance.id"}
            self.assertLessEqual(nodes, {f"default.cpu-{i}" for i in range(NODES)})

    def test_peers_record_nothing_if_the_caller_does_not_sample(self):
        ids = [self.ask(sampled=0) for _ in range(20)]
        self.traces_by_hops()
        self.assertFalse({span.trace_id.hex() for span in self.sink.spans()} & set(ids))


if __name__ == "__main__":
    unittest.main()
