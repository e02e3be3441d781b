"""Tables that are filled from a text file have the same rows as in TensorFlow. A model that TensorFlow rejects is rejected too."""

import dataclasses
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import judging
from serving import State
from shared_nodes import shared_nodes

v1 = tf.compat.v1
TEXT, LONG, INT, FLOAT, DOUBLE = tf.string, tf.int64, tf.int32, tf.float32, tf.float64
WORDS = b"a\nb\nc"
PAIRS = b"a\t1\nb\t2\nc\t3\n"


@dataclasses.dataclass
class FromFile:
    """A model that looks up `keys` in a table. One op fills the table from a file with `content`; is_first: that of TensorFlow 1."""
    content: bytes
    key: tf.DType = TEXT
    value: tf.DType = LONG
    keys: tuple = (b"a", b"b", b"c", b"", b" a", b"\r")
    attributes: dict = dataclasses.field(default_factory=dict)  # Attributes of InitializeTableFromTextFileV2.
    is_first: bool = False

    def export(self, version_dir: pathlib.Path, asset: pathlib.Path) -> None:
        asset.write_bytes(self.content)
        with tf.Graph().as_default(), v1.Session() as session:
            name = tf.constant(str(asset))
            v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, name)
            attributes = {"key_index": -2, "value_index": -1} | self.attributes
            version = "" if self.is_first else "V2"

            def op(name, **arguments):
                return getattr(tf.raw_ops, name + version)(**arguments)

            table = op("HashTable", key_dtype=self.key, value_dtype=self.value, shared_name="of_file")
            fill = op("InitializeTableFromTextFile", table_handle=table, filename=name, **attributes)
            x = v1.placeholder(self.key, [None], name="x")
            default = tf.constant("none" if self.value == TEXT else -7, self.value)
            y = op("LookupTableFind", table_handle=table, keys=x, default_value=default)
            count = tf.fill([tf.size(x)], op("LookupTableSize", table_handle=table))
            signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y, "count": count})
            builder = v1.saved_model.Builder(str(version_dir))
            builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, main_op=fill,
                                                 assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS))
            builder.save()

    def sample(self) -> judging.Tensors:
        return {"x": np.array(self.keys, self.key.as_numpy_dtype)}


def _fields(content: bytes, value: tf.DType = LONG, **attributes) -> FromFile:
    return FromFile(content, value=value, attributes={"key_index": 0, "value_index": 1} | attributes)


def _numbers(content: bytes, value: tf.DType = TEXT, key: tf.DType = LONG, **attributes) -> FromFile:
    return FromFile(content, key, value, tuple(range(10)), attributes)


FIELDS = (b" 1", b"1 ", b"\x0b 1\x0c", b"+1", b"-1", b"01", b"1\0 2", b"2147483648", b"9223372036854775808", b"- 1",
          b"+-1", b"--1", b"", b" ", b"0x10", b"1.5", b"1e2")
FLOATS = (b" 1.5 ", b"+.5", b"5.", b"1e39", b"1e400", b"1e-400", b"0x1p3", b"INF", b"nan", b"16777217", b"1f", b"1e", b"",
          b"1 2")

CASES = {
    "line numbers": FromFile(WORDS),
    "the ops of TensorFlow 1": FromFile(WORDS, is_first=True),
    "no newline at the end": FromFile(WORDS + b"\n"),
    "carriage returns": FromFile(b"a\r\nb\r\r\n\rc\r\n"),
    "spaces around words": FromFile(b" a\nb \nc"),
    "an empty line": FromFile(b"a\n\nc\n"),
    "an empty line at the end": FromFile(WORDS + b"\n\n"),
    "an empty line with a Windows line ending": FromFile(b"a\r\n\r\nc\r\n"),
    "an empty line among fields": _fields(b"a\t1\n\nc\t3\n"),
    "no lines": FromFile(b""),
    "no lines with a vocab_size": FromFile(b"", attributes={"vocab_size": 1}),
    "offset": FromFile(WORDS, attributes={"offset": 5}),
    "offset below zero": FromFile(WORDS, attributes={"offset": -5}),
    "offset that wraps": FromFile(WORDS, attributes={"offset": 2**63 - 2}),
    "offset of keys": _numbers(WORDS, key_index=-1, value_index=-2, offset=4),
    "offset of keys and values": _numbers(WORDS, LONG, key_index=-1, value_index=-1, offset=4),
    "offset with fields": _fields(PAIRS, offset=4),
    **{f"vocab_size {size}": FromFile(WORDS, attributes={"vocab_size": size}) for size in (1, 2, 3, 4)},
    "vocab_size before an invalid line": _fields(b"a\t1\nb\tx\n\n", vocab_size=1),
    "vocab_size before an empty line": FromFile(b"a\n\nb\n", attributes={"vocab_size": 1}),
    "vocab_size with equal lines": _fields(b"a\t1\na\t1\nb\t2\n", vocab_size=2),
    "delimiter": _fields(PAIRS.replace(b"\t", b","), delimiter=","),
    "delimiter that is a space": _fields(b"a 1\nb 2", delimiter=" "),
    "delimiter twice in a row": _fields(b"a  1\nb  2", delimiter=" "),
    "delimiter of two characters": _fields(b"a::1\n", delimiter="::"),
    "empty delimiter": _fields(PAIRS, delimiter=""),
    "fields in reverse order": FromFile(b"1\ta\n2\tb\n", attributes={"key_index": 1, "value_index": 0}),
    "more fields": _fields(b"a\t1\t\nb\t2\tz\n"),
    "fewer fields": _fields(b"a\t1\nb\n"),
    "an empty key": _fields(b"\t1\na\t2\n"),
    "whole lines as keys and values": FromFile(WORDS, value=TEXT, attributes={"value_index": -2}),
    "whole lines as keys that are numbers": _numbers(b"3\n 4 \n", LONG, key_index=-2, value_index=-1),
    "whole lines as values that are numbers": FromFile(b"3\n4\n", LONG, INT, (0, 1, 2), {"key_index": -1, "value_index": -2}),
    "whole lines as fractions": FromFile(b"3\n4\n", LONG, FLOAT, (0, 1), {"key_index": -1, "value_index": -2}),
    "line numbers of 32 bits": FromFile(WORDS, value=INT),
    "line numbers of 32 bits with an offset": FromFile(WORDS, value=INT, attributes={"offset": 3}),
    "line numbers as fractions": FromFile(WORDS, value=FLOAT),
    "line numbers as texts": FromFile(WORDS, value=TEXT),
    "line numbers as text keys": FromFile(WORDS, value=TEXT, attributes={"key_index": -1, "value_index": -2}),
    "a key twice": FromFile(b"a\na\n"),
    "a key twice with one value": _fields(b"a\t1\na\t1\n"),
    "a key twice with two values": _fields(b"a\t1\na\t2\n"),
    **{f"field {field!r} of {kind.name}": _fields(b"a\t" + field + b"\n", kind) for field in FIELDS for kind in (INT, LONG)},
    **{f"field {field!r} of {kind.name}": _fields(b"a\t" + field + b"\n", kind)
       for field in FLOATS for kind in (FLOAT, DOUBLE)},
}


def _judge(version_dir: pathlib.Path) -> judging.Judge | None:
    try:
        return judging.Judge(version_dir)
    except tf.errors.OpError:
        return None


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    exports = {name: lambda version_dir, case=case: case.export(version_dir, version_dir.parent.with_suffix(".txt")) for name, case in CASES.items()}
    with shared_nodes(folder, exports) as made:
        yield made


@pytest.mark.parametrize("case", CASES)
def test_a_table_from_a_text_file_has_tensorflows_rows(case, nodes):
    node = nodes.node_of(case)
    judge = _judge(nodes.version_dir(case))
    status = node.settled()
    is_served = status.state == State.AVAILABLE
    assert is_served == (judge is not None), status.status.error_message or "TensorFlow rejects it"
    if is_served:
        judging.judge_grpc(node, judge, CASES[case].sample())
    else:
        assert "InitializeTableFromTextFileV2" in status.status.error_message
