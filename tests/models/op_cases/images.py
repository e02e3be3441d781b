"""Small image files of every format, valid and damaged. They are written byte by byte, or by TensorFlow."""

import struct
import zlib

import numpy as np
import tensorflow as tf

from op_cases.case import case, i32


def scalar(value: bytes) -> np.ndarray:
    return np.array(value, object)


def picture(height: int, width: int, channels: int, dtype=np.uint8) -> np.ndarray:
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    top = np.iinfo(dtype).max
    return ((y * 37 + x * 11 + c * 71 + x * y * 3) * (top // 255) % (top + 1)).astype(dtype)


def smooth(height: int, width: int, channels: int) -> np.ndarray:
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    return (128 + 60 * np.sin(x / 3 + c) + 60 * np.cos(y / 4 - c)).astype(np.uint8)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, bits: int, color: int, rows: bytes, between: bytes = b"", interlaced: int = 0) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + between + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def bmp(image: np.ndarray, top_down: bool = False, bits: int | None = None) -> bytes:
    height, width, channels = image.shape
    stored = image[..., [2, 1, 0, 3][:channels]] if channels > 1 else image
    rows = [row.tobytes() + b"\0" * (-row.nbytes % 4) for row in (stored if top_down else stored[::-1])]
    header = struct.pack("<IiiHHIIiiII", 40, width, -height if top_down else height, 1, bits or channels * 8, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + sum(map(len, rows)), 0, 0, 54) + header + b"".join(rows)


def lzw(pixels: bytes) -> bytes:
    """LZW codes of 9 bits for 8-bit pixels. Clear codes keep the code size from growing."""
    bits, at = 0, 0
    for i, pixel in enumerate(pixels):
        for code in ([256, pixel] if i % 100 == 0 else [pixel]):
            bits |= code << at
            at += 9
    bits |= 257 << at
    data = bits.to_bytes((at + 9 + 7) // 8, "little")
    return b"\x08" + b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255)) + b"\0"


PALETTE = bytes((i * 5) % 256 for i in range(256 * 3))


def frame(left: int, top: int, width: int, height: int, first: int = 0, transparent: int | None = None, disposal: int = 0, interlaced=False,
          palette: bytes = b"") -> bytes:
    control = b"" if transparent is None else b"\x21\xf9\x04" + bytes([disposal << 2 | 1, 0, 0, transparent, 0])
    flags = (0x40 if interlaced else 0) | (0x87 if palette else 0)
    pixels = bytes((first + i * 3) % 256 for i in range(width * height))
    return control + b"\x2c" + struct.pack("<HHHHB", left, top, width, height, flags) + palette + lzw(pixels)


def gif(width: int, height: int, *frames: bytes, palette: bytes = PALETTE) -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7 if palette else 0x70, 0, 0) + palette + b"".join(frames) + b"\x3b"


def jpeg(image: np.ndarray, **options) -> bytes:
    return tf.io.encode_jpeg(image, **options).numpy()


def damaged(data: bytes) -> list[bytes]:
    """Copies of the file that are truncated at several places, and one with a changed byte in the middle."""
    return [data[:4], data[:12], data[:len(data) // 2], data[:-len(data) // 4]]


def pngs() -> list[bytes]:
    made = [tf.io.encode_png(picture(5, 7, channels, dtype)).numpy() for channels in (1, 2, 3, 4) for dtype in (np.uint8, np.uint16)]
    packed = b"".join(b"\0" + bytes([0b10110100, 0b01000000]) for _ in range(3))
    for bits in (1, 2, 4):
        made.append(png(16 // bits - 1, 3, bits, 0, packed))
    palette = chunk(b"PLTE", bytes(range(48)))
    rows = b"".join(b"\0" + bytes([(i * 7 + k) % 16 for k in range(4)]) for i in range(3))
    made.append(png(4, 3, 8, 3, rows, palette))
    made.append(png(4, 3, 8, 3, rows, palette + chunk(b"tRNS", bytes([0, 128, 255]))))
    made.append(png(16 // 4 - 1, 3, 4, 3, packed, palette))
    made.append(png(4, 3, 8, 0, rows, chunk(b"tRNS", struct.pack(">H", 7))))
    color_rows = b"".join(b"\0" + bytes([(i * 50 + k * 9) % 256 for k in range(12)]) for i in range(3))
    made.append(png(4, 3, 8, 2, color_rows, chunk(b"tRNS", struct.pack(">HHH", 0, 9, 18))))
    made.append(png(1, 1, 8, 0, b"\0\x50", interlaced=1))
    made.append(png(4, 3, 8, 0, rows, chunk(b"gAMA", struct.pack(">I", 45455))))
    return made


def decode_png() -> None:
    for contents in pngs():
        for channels in (0, 1, 3, 4):
            case("DecodePng", contents=scalar(contents), channels=channels)
        case("DecodePng", contents=scalar(contents), dtype=tf.uint16)
        case("DecodePng", contents=scalar(contents), dtype=tf.uint16, channels=3)
        case("DecodeImage", contents=scalar(contents))
    whole = pngs()[4]
    changed = whole[:-20] + bytes([whole[-20] ^ 0x55]) + whole[-19:]
    for contents in damaged(whole) + [changed, b"", b"nonsense", whole[:-12], png(4, 3, 8, 0, b"\0\1\2\3\4"), png(0, 3, 8, 0, b""),
                                      png(4, 3, 7, 0, b""),
                                      png(4, 3, 8, 3, b"\0\1\2\3\4" * 3), whole + b"more", png(2**30, 2**30, 16, 6, b"")]:
        case("DecodePng", contents=scalar(contents))
        case("DecodeImage", contents=scalar(contents))
    case("DecodePng", contents=np.array([whole], object))


def decode_jpeg() -> None:
    color, gray = smooth(19, 26, 3), smooth(9, 16, 1)
    files = [jpeg(color, quality=q, chroma_downsampling=down) for q in (95, 50) for down in (True, False)]
    files += [jpeg(color, progressive=True), jpeg(gray), jpeg(smooth(1, 1, 3)), jpeg(smooth(8, 8, 3), format="rgb"),
              jpeg(picture(17, 5, 3))]
    for contents in files:
        for channels in (0, 1, 3):
            case("DecodeJpeg", contents=scalar(contents), channels=channels)
        for options in ({"ratio": 2}, {"ratio": 8}, {"fancy_upscaling": False}, {"dct_method": "INTEGER_FAST"},
                        {"dct_method": "INTEGER_ACCURATE"}):
            case("DecodeJpeg", contents=scalar(contents), **options)
        case("DecodeImage", contents=scalar(contents))
        case("DecodeImage", contents=scalar(contents), channels=1, dtype=tf.float32)
        case("DecodeImage", contents=scalar(contents), dtype=tf.uint16)
        case("ExtractJpegShape", contents=scalar(contents))
    whole = files[0]
    for window in ([0, 0, 19, 26], [3, 5, 7, 11], [18, 25, 1, 1], [0, 0, 20, 26], [-1, 0, 2, 2], [0, 0, 0, 2], [1, 2, 3]):
        case("DecodeAndCropJpeg", contents=scalar(whole), crop_window=i32(window))
    for contents in damaged(whole) + [b"", b"nonsense", b"\xff\xd8\xff"]:
        case("DecodeJpeg", contents=scalar(contents))
        case("DecodeImage", contents=scalar(contents))
        case("ExtractJpegShape", contents=scalar(contents))
        case("DecodeAndCropJpeg", contents=scalar(contents), crop_window=i32(0, 0, 1, 1))
    case("DecodeJpeg", contents=scalar(pngs()[4]))
    case("DecodeJpeg", contents=scalar(pngs()[5]))
    case("DecodePng", contents=scalar(whole))
    case("DecodePng", contents=scalar(whole), channels=4)
    case("DecodePng", contents=scalar(whole), dtype=tf.uint16)
    case("DecodeAndCropJpeg", contents=scalar(pngs()[4]), crop_window=i32(0, 0, 1, 1))


def decode_gif() -> None:
    own = bytes((255 - i) % 256 for i in range(256 * 3))
    files = [gif(6, 5, frame(0, 0, 6, 5)), gif(6, 5, frame(0, 0, 6, 5, interlaced=True)), gif(12, 20, frame(0, 0, 12, 20, interlaced=True,
                                                                                                            transparent=9)),
             gif(6, 5, frame(0, 0, 6, 5), frame(1, 2, 3, 2, first=100)), gif(6, 5, frame(0, 0, 6, 5),
                                                                             frame(0, 0, 6, 5, first=7, transparent=40)),
             gif(6, 5, frame(0, 0, 6, 5), frame(2, 1, 3, 3, transparent=9, disposal=2), frame(0, 0, 2, 2, first=50, transparent=5,
                                                                                              disposal=3)),
             gif(6, 5, frame(2, 1, 3, 3)), gif(6, 5, frame(4, 3, 6, 5)), gif(6, 5, frame(0, 0, 6, 5, palette=own)), gif(2, 2, frame(0, 0, 6, 5)),
             gif(6, 5, frame(0, 0, 3, 2), frame(0, 0, 6, 5, first=9)), gif(6, 5, frame(0, 0, 6, 5, palette=own), palette=b"")]
    for contents in files:
        case("DecodeGif", contents=scalar(contents))
        for options in ({}, {"channels": 3}, {"channels": 1}, {"expand_animations": False}, {"dtype": tf.float32}, {"dtype": tf.uint16}):
            case("DecodeImage", contents=scalar(contents), **options)
        case("DecodePng", contents=scalar(contents))
        case("DecodeJpeg", contents=scalar(contents), channels=3)
    for contents in (b"GIF89a", files[0][:20], b"", b"nonsense", gif(6, 5), gif(6, 5, frame(0, 0, 6, 5), palette=b""), pngs()[0],
                     pngs()[6], jpeg(smooth(4, 5, 1)),
                     jpeg(smooth(4, 5, 3)), bmp(picture(3, 5, 3))):
        case("DecodeGif", contents=scalar(contents))
    case("DecodePng", contents=scalar(files[0]), channels=1)
    case("DecodePng", contents=scalar(files[0]), dtype=tf.uint16)


def decode_bmp() -> None:
    for channels in (1, 3, 4):
        for top_down in (False, True):
            contents = bmp(picture(3, 5, channels), top_down)
            for wanted in (0, 1, 3, 4):
                case("DecodeBmp", contents=scalar(contents), channels=wanted)
            case("DecodeImage", contents=scalar(contents))
            if not top_down:  # With another dtype these abort TensorFlow's process.
                case("DecodeImage", contents=scalar(contents), dtype=tf.float32)
                case("DecodeImage", contents=scalar(contents), dtype=tf.uint16)
    whole = bmp(picture(3, 5, 3))
    wide = whole[:18] + struct.pack("<ii", 2**31 - 1, 2**31 - 1) + whole[26:]
    for contents in damaged(whole) + [b"", b"BM", b"nonsense", wide, bmp(picture(3, 5, 3), bits=16), whole[:-1], whole[:-2],
                                      whole + b"more", pngs()[0],
                                      whole[:18] + struct.pack("<ii", 0, 3) + whole[26:], whole[:18] + struct.pack("<ii", 5, -(2**31)) + whole[26:],
                                      whole[:10] + struct.pack("<i", -5) + whole[14:], whole[:18] + struct.pack("<ii", -5, 3) + whole[26:]]:
        case("DecodeBmp", contents=scalar(contents))
    case("DecodePng", contents=scalar(whole))


for family in (decode_png, decode_jpeg, decode_gif, decode_bmp):
    family()
