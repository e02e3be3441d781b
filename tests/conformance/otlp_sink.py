"""An OpenTelemetry collector for tests: receives OTLP over HTTP with OpenTelemetry's own messages, and keeps the spans."""

import contextlib
import http.server
import threading
import time

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

SECONDS = 30
# The flags with which a node exports to a sink quickly.
QUICK = "--otel_bsp_schedule_delay=20"


class Sink:
    def __init__(self):
        self.changed = threading.Condition()
        self.requests: list[trace_service_pb2.ExportTraceServiceRequest] = []
        self.heads: list[dict[str, str]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []  # The status and the headers of the next answers; then 200.
        self.url = ""

    def take(self, path: str, head: dict[str, str], body: bytes) -> tuple[int, dict[str, str]]:
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
        with self.changed:
            answer = self.answers.pop(0) if self.answers else (200, {})
            self.heads.append({"path": path, **head})
            if answer[0] == 200:
                self.requests.append(request)
            self.changed.notify_all()
        return answer

    def spans(self) -> list[trace_pb2.Span]:
        return [span for request in self.requests for ours in request.resource_spans
                for scope in ours.scope_spans for span in scope.spans]

    def trace(self, trace_id: str, count: int) -> list[trace_pb2.Span]:
        """Waits until the trace has this many spans, and returns them in the order of their begin."""
        def found():
            return [span for span in self.spans() if span.trace_id.hex() == trace_id]
        self.until(lambda: len(found()) >= count, lambda: [span.name for span in found()])
        return sorted(found(), key=lambda span: (span.start_time_unix_nano, -span.end_time_unix_nano))

    def until(self, condition, seen=lambda: "") -> None:
        deadline = time.monotonic() + SECONDS
        with self.changed:
            assert self.changed.wait_for(condition, deadline - time.monotonic()), seen()

    def resource(self) -> dict[str, str | int]:
        return attributes(self.requests[0].resource_spans[0].resource)


def attributes(of) -> dict[str, str | int]:
    return {each.key: each.value.string_value or each.value.int_value for each in of.attributes}


@contextlib.contextmanager
def running_sink():
    sink = Sink()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, head = sink.take(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(status)
            for name, value in {"Content-Length": "0", **head}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sink.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield sink
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
