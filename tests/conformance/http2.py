"""An HTTP/2 client that sends any frames, valid or not (RFC 9113, RFC 7541)."""

import socket
import struct
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
ACK, END_STREAM, END_HEADERS = 1, 1, 4
CANCEL = 8
FRAME_MAX = 16384
NO_MESSAGE = b"\0\0\0\0\0"  # An empty protobuf in gRPC framing.
GRPC_STATUS = bytes.fromhex("9acac8b21234da8f")  # "grpc-status" in the Huffman code of RFC 7541.


def integer(value: int, bits: int, first: int) -> bytes:
    top = (1 << bits) - 1
    if value < top:
        return bytes([first | value])
    out, value = [first | top], value - top
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes(out + [value])


def text(value: bytes) -> bytes:
    return integer(len(value), 7, 0) + value


def header(name: str, value: str) -> bytes:
    """A header field that is not added to the dynamic table."""
    return b"\0" + text(name.encode()) + text(value.encode())


def header_added_to_table(name: str, value: str) -> bytes:
    """A header field that is added to the dynamic table; it becomes the newest entry, 62."""
    return b"\x40" + text(name.encode()) + text(value.encode())


def table_entry(entry: int) -> bytes:
    return integer(entry, 7, 0x80)


def framed(message: bytes) -> bytes:
    """A message in gRPC framing."""
    return b"\0" + struct.pack(">I", len(message)) + message


def readable(headers: bytes) -> str:
    """The text of a header block, in which the name grpc-status is not compressed."""
    return headers.replace(GRPC_STATUS, b"grpc-status").decode("latin-1")


def call(path: bytes | str, *more: bytes, te: str = "trailers", scheme: str = "http") -> bytes:
    """The header block of a gRPC call. `path`: a string, or an encoded header field."""
    named = header(":path", path) if isinstance(path, str) else path
    return b"".join([header(":method", "POST"), header(":scheme", scheme), named, header(":authority", "localhost"),
                     header("content-type", "application/grpc"), header("te", te), *more])


class Connection:
    def __init__(self, port: int, seconds: float = 10, window: int = 65535):
        """`window`: how many bytes of each answer the server may send; read() never enlarges it."""
        self.socket = socket.create_connection(("127.0.0.1", port), seconds)
        self.buffer, self.stream, self.closed = b"", -1, False
        # A header table of size 0, so that the server's headers can be read without a table.
        settings = struct.pack(">HIHI", 1, 0, 4, window)
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(SETTINGS, 0, 0, settings))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    @staticmethod
    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    def send(self, data: bytes) -> bool:
        """Returns False if the server has closed the connection."""
        try:
            self.socket.sendall(data)
        except OSError:
            self.closed = True
        return not self.closed

    def next_stream(self) -> int:
        self.stream += 2
        return self.stream

    def header_frames(self, stream: int, block: bytes) -> bytes:
        pieces = [block[at:at + FRAME_MAX] for at in range(0, len(block), FRAME_MAX)]
        last = len(pieces) - 1
        return b"".join(self.frame(HEADERS if i == 0 else CONTINUATION, END_HEADERS if i == last else 0, stream, piece)
                        for i, piece in enumerate(pieces))

    def request(self, block: bytes, message: bytes = NO_MESSAGE) -> int:
        stream = self.next_stream()
        self.send(self.header_frames(stream, block) + self.frame(DATA, END_STREAM, stream, message))
        return stream

    def read(self) -> tuple[int, int, int, bytes] | None:
        """Returns the next frame (kind, flags, stream, payload); None at the end of the connection or at the timeout."""
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            try:
                got = self.socket.recv(65536)
            except OSError:
                got = b""
            if not got:
                self.closed = True
                return None
            self.buffer += got
        size = int.from_bytes(self.buffer[:3], "big")
        kind, flags, stream = self.buffer[3], self.buffer[4], int.from_bytes(self.buffer[5:9], "big")
        payload, self.buffer = self.buffer[9:9 + size], self.buffer[9 + size:]
        if kind == SETTINGS and not flags & ACK:
            self.send(self.frame(SETTINGS, ACK, 0, b""))
        return kind, flags, stream, payload

    def answer(self, stream: int) -> str:
        """Reads until the stream ends; returns the text of its header blocks, "reset N", "goaway N" or "closed"."""
        headers = b""
        while (frame := self.read()) is not None:
            kind, flags, which, payload = frame
            if kind == GOAWAY and int.from_bytes(payload[4:8], "big") != 0:
                return f"goaway {int.from_bytes(payload[4:8], 'big')}"
            if which != stream:
                continue
            if kind == RST_STREAM:
                return readable(headers) or f"reset {int.from_bytes(payload, 'big')}"
            if kind == HEADERS:
                headers += payload
                if flags & END_STREAM:
                    return readable(headers)
        return readable(headers) or "closed"

    def goaway(self, seconds: float) -> int | None:
        """Waits for a GOAWAY; returns its error code, -1 if the connection was closed, or None at the timeout."""
        self.socket.settimeout(seconds)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            frame = self.read()
            if frame is None:
                return -1 if time.monotonic() < deadline else None
            if frame[0] == GOAWAY:
                return int.from_bytes(frame[3][4:8], "big")
        return None
