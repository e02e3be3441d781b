"""An HTTPS server on this machine that serves archives, has its own CA, and misbehaves on request."""

import http.server
import io
import ssl
import sys
import tarfile
import threading
import time

from harness import ROOT

sys.path.insert(0, str(ROOT / "tests/conformance"))
from certificates import Authority  # noqa: E402

CHUNK_BYTES = 16 << 10


def archive_of(folders, padding=0, compressed=False):
    """Returns a tar archive of `folders` (name -> folder) and of a file with `padding` zero bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if compressed else "w") as archive:
        for name, folder in folders.items():
            archive.add(folder, f"half/{name}")
        if padding:
            entry = tarfile.TarInfo("half/padding")
            entry.size = padding
            archive.addfile(entry, io.BytesIO(bytes(padding)))
    return buffer.getvalue()


class ArchiveHost:
    def __init__(self, folder, authority=None):
        self.files = {}  # Path -> bytes.
        self.requests = []  # Pairs (path, Range header or None), in order.
        self.cut_after = []  # The next answers end after these numbers of bytes, one number per answer.
        self.redirects = {}  # Path -> path of the new location.
        self.seconds_per_chunk = 0
        self.authority = authority or Authority(folder)
        self.authority.sign("archives")
        self.ca_file = self.authority.certificate
        self.server = None
        self.port = 0
        self.folder = folder
        self.start()

    def start(self):
        host = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # The library requires this name.
                host.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "archives.crt", self.folder / "archives.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self, path):
        return f"https://127.0.0.1:{self.port}{path}"

    def answer(self, request):
        path, byte_range = request.path.partition("?")[0], request.headers["Range"]
        self.requests.append((path, byte_range))
        if path in self.redirects:
            request.send_response(302)
            request.send_header("Location", self.redirects[path])
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        if path not in self.files:
            request.send_error(404)
            return
        body = self.files[path]
        begin = int(byte_range.removeprefix("bytes=").removesuffix("-")) if byte_range else 0
        request.send_response(206 if byte_range else 200)
        if byte_range:
            request.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
        request.send_header("Content-Length", str(len(body) - begin))
        request.end_headers()
        self.send(request, body[begin:])

    def send(self, request, body):
        end = min(len(body), self.cut_after.pop(0)) if self.cut_after else len(body)
        for at in range(0, end, CHUNK_BYTES):
            request.wfile.write(body[at:min(end, at + CHUNK_BYTES)])
            time.sleep(self.seconds_per_chunk)
        if end < len(body):
            request.close_connection = True
