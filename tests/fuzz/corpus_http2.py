"""The corpus of the fuzzer http2: bytes of clients, and the other steps of http2_fuzz.cc."""

import gzip
import struct

# The actions of a step; the number 0 receives bytes.
DATA, WRITE, WAIT, END, GO_ON, RESET, NOTIFIED = range(1, 8)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name: bytes, value: bytes) -> bytes:
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call(stream: int, path: bytes, more: bytes = b"", flags: int = 4) -> bytes:  # POST, http.
    head = b"\x83\x86" + field(b":path", path) + field(b":authority", b"h") + field(b"te", b"trailers")
    return frame(1, flags, stream, head + field(b"content-type", b"application/grpc") + more)


def body(stream: int, message: bytes, flags: int = 1, prefix: int = 0) -> bytes:
    return frame(0, flags, stream, bytes([prefix]) + struct.pack(">I", len(message)) + message)


def receive(content: bytes) -> bytes:
    """Makes the steps of the fuzzer that receive the bytes. The last one may ask for more bytes than the input has."""
    return b"".join(bytes([31 << 3]) + content[i:i + 3845] for i in range(0, len(content), 3845))


def step(action: int, number: int = 0, stream: bytes = b"") -> bytes:
    return bytes([number << 3 | action]) + stream


def exactly(content: bytes) -> bytes:
    """Makes steps that receive the bytes, and that other steps may follow."""
    steps = b""
    while content:
        number = int(((len(content) - 1) / 4) ** 0.5)
        size = 1 + 4 * number * number
        steps, content = steps + step(0, number) + content[:size], content[size:]
    return steps


def inputs() -> dict[str, bytes]:
    packed = gzip.compress(b"x" * 5000, mtime=0)
    bomb = b"\x40\x06x-bomb\x64" + b"b" * 100 + b"\xbe" * 500
    received = dict(
        unary=call(1, b"/e") + body(1, b"hello"), unknown=call(1, b"/none") + body(1, b""),
        stream=call(1, b"/s") + body(1, b"a", 0) * 3 + body(1, b"b"), both=call(1, b"/s") + call(3, b"/e") + body(1, b"a") + body(3, b"b"),
        resets=b"".join(call(i, b"/s") + frame(3, 0, i, b"\0\0\0\x08") for i in range(1, 60, 2)),
        packed=call(1, b"/e", field(b"grpc-encoding", b"gzip")) + body(1, packed, 1, 1),
        pings=frame(6, 0, 0, b"12345678") * 100, settings=frame(4, 0, 0) * 300, empty=call(1, b"/e") + frame(0, 0, 1) * 300,
        continuation=call(1, b"/e", flags=0) + frame(9, 0, 1, field(b"x", b"y" * 100)) * 20 + frame(9, 4, 1),
        window=frame(4, 0, 0, b"\0\4\0\0\0\0") + call(1, b"/s") + body(1, b"a" * 500) + frame(8, 0, 1, b"\0\0\0\xff"),
        goaway=call(1, b"/s") + frame(7, 0, 0, b"\0" * 8), priority=frame(2, 0, 1, b"\0\0\0\3\1") * 50,
        length=call(1, b"/e") + body(1, b"x" * 100)[:50], large=call(1, b"/e") + frame(0, 0, 1, b"\0\xff\xff\xff\xff"),
        bomb=call(1, b"/e", bomb), padded=call(1, b"/e") + frame(0, 9, 1, b"\4\0\0\0\0\0\0\0\0\0"), preface=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        trailers=call(1, b"/s") + body(1, b"a", 0) + frame(1, 5, 1, field(b"x", b"y")))
    kept = exactly(call(1, b"/k"))
    late = exactly(call(1, b"/l"))
    steps = dict(
        timeout=exactly(call(1, b"/e", field(b"grpc-timeout", b"1n"))) + step(WAIT),
        stalled=exactly(call(1, b"/e", field(b"grpc-timeout", b"1S")) + body(1, b"", 0)) + step(WAIT, 10) + step(WRITE, 31),
        referred=exactly(call(1, b"/s")) + step(DATA, 15, b"\1") * 3 + step(WRITE, 10) + step(DATA, 31, b"\1") + step(WRITE, 31),
        overload=late + step(DATA, 15, b"\1") * 6 + step(WRITE, 31),
        window_full=exactly(frame(4, 0, 0, b"\0\4\0\0\0\0") + call(1, b"/e")) + step(DATA, 31, b"\1") + step(WRITE, 31) + step(WAIT, 20),
        kept=kept + step(DATA, 25, b"\1") + step(GO_ON, 1) + step(NOTIFIED) + step(WRITE, 31),
        kept_reset=kept + step(DATA, 25, b"\1") + step(RESET, 0, b"\1") + step(WRITE) + step(GO_ON, 1) + step(NOTIFIED),
        failed=kept + step(DATA, 25, b"\1") + step(GO_ON, 2), dropped=kept + step(DATA, 25, b"\1") + step(GO_ON, 3),
        late=late + step(DATA, 9, b"\1") * 2 + step(GO_ON, 1) + step(NOTIFIED) + step(WRITE, 5) + step(DATA, 25, b"\1") + step(WRITE, 31),
        announced=step(END) + kept + step(WRITE, 31) + step(END, 1) + step(DATA, 16, b"\1") + step(GO_ON) + step(WRITE, 31),
        pinged=step(END, 2) + step(WRITE, 31) + step(WAIT, 24) + step(END, 1))
    return {name: receive(content) for name, content in received.items()} | steps
