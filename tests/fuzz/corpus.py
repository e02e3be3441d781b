"""Makes the fuzzers' corpora: `python tests/fuzz/corpus.py`, in the environment of the tests.

Each file is one input: a common one, an unusual one, or one that once took too much time or memory. Binary inputs are built from
messages here, so that their contents can be read.
"""

import gzip
import io
import pathlib
import struct
import subprocess
import tarfile
import zlib

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.protobuf import saved_model_pb2, tensor_bundle_pb2
from tensorflow_serving.apis import classification_pb2, predict_pb2, prediction_log_pb2

import corpus_http2

HERE = pathlib.Path(__file__).resolve().parent / "corpus"
BYTES_MAX = 4096


def write(fuzzer: str, **files: bytes) -> None:
    folder = HERE / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        assert len(content) <= BYTES_MAX, (fuzzer, name, len(content))
        (folder / name).write_bytes(content)


def json_predict() -> None:
    floats, strings, integers, bools, halves, doubles, three = (bytes([i]) for i in (0, 1, 2, 3, 5, 6, 7))
    write("json_predict",
          rows=floats + b'{"instances": [[1.0, 2.5e-3], [-3, 1e39]], "signature_name": "serving_default"}',
          columns=floats + b'{"inputs": [[[1], [2]], [[3], [4]]]}',
          words=floats + b'{"instances": [NaN, Infinity, -Infinity, -0, 1E+2]}',
          dense=doubles + b'{"inputs":[' + b"1," * 2000 + b"1]}",
          dense_slow=floats + b'{"inputs":[' + b"1," * 2000 + b"-0]}",
          dense_empty=floats + b'{"inputs":[' + b"[]," * 1300 + b"[]]}",
          deep=floats + b'{"instances": ' + b"[" * 4000,
          deep_closed=floats + b'{"instances": ' + b"[" * 2000 + b"1" + b"]" * 2000 + b"}",
          deep_objects=floats + b'{"a":' * 800,
          deep_beside=floats + b'{"x": ' + b"[" * 300 + b"]" * 300 + b', "instances": [1]}',
          wide_rank=floats + b'{"instances": ' + b"[" * 250 + b"1" + b"]" * 250 + b"}",
          ragged=floats + b'{"instances": [[1, 2], [3]]}',
          long_number=floats + b'{"instances": [' + b"9" * 3900 + b"]}",
          exponent=floats + b'{"instances": [1e999999, 1e-999999, 1e+9999999999999999999]}',
          strings=strings + b'{"instances": ["a\\u00e9\\n", {"b64": "AAEC/w=="}, "\\ud83d\\ude00"]}',
          lone_surrogate=strings + b'{"instances": ["\\ud83d", "\xff\xfe"]}',
          empty_strings=strings + b'{"inputs":[' + b'"",' * 800 + b'""]}',
          many_b64=strings + b'{"inputs":[' + b'{"b64":""},' * 350 + b'""]}',
          integers=integers + b'{"inputs": [9223372036854775807, -9223372036854775808, 0]}',
          too_large=integers + b'{"inputs": [9223372036854775808]}',
          bools=bools + b'{"inputs": [[true], [false]]}',
          halves=halves + b'{"inputs": [1.5]}',
          three=three + b'{"instances": [{"a": 1, "b": 2, "c": "x"}, {"c": {"b64": "eQ=="}, "b": 3, "a": 4}]}',
          three_columns=three + b'{"inputs": {"a": [[1]], "b": [2], "c": ["x"], "d": 1}}',
          missing=three + b'{"instances": [{"a": 1}]}',
          twice=three + b'{"instances": [{"a": 1, "a": 2}], "instances": 7, "inputs": 1}',
          nothing=floats + b"{}", no_object=floats + b"[1]", empty=floats, trailing=floats + b'{"inputs": 1} and more',
          keys=floats + b"{" + b",".join(b'"%d":0' % i for i in range(400)) + b"}")


def json_examples() -> None:
    write("json_examples",
          plain=b'{"signature_name": "s", "examples": [{"x": 1, "y": 2.5, "z": "t", "w": {"b64": "/w=="}}]}',
          lists=b'{"examples": [{"x": [1, 2], "y": [1.0, 2], "z": ["a", {"b64": "eQ=="}]}, {}]}',
          context=b'{"context": {"c": 7}, "examples": [{"x": true}, {"x": null}]}',
          many=b'{"examples": [' + b'{"x":1},' * 300 + b"{}]}",
          empty=b'{"examples": [' + b"{}," * 1300 + b"{}]}",
          features=b'{"examples": [{' + b",".join(b'"%d":0' % i for i in range(400)) + b"}]}",
          values=b'{"examples": [{"x": [' + b"1," * 1900 + b"1]}]}",
          strings=b'{"examples": [{"x": [' + b'"",' * 800 + b'""]}]}',
          deep=b'{"examples": ' + b'[{"x":' * 600, wrong=b'{"examples": [3]}', nothing=b'{"examples": []}')


def tensor(value, signature: str) -> predict_pb2.PredictRequest:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "types"
    request.model_spec.signature_name = signature
    request.inputs["x"].CopyFrom(value if isinstance(value, tensor_pb2.TensorProto) else tf.make_tensor_proto(value))
    return request


def shaped(dtype, sizes, **fields):
    made = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)
    for size in sizes:
        made.tensor_shape.dim.add(size=size)
    for name, value in fields.items():
        if isinstance(value, bytes):
            setattr(made, name, value)
        else:
            getattr(made, name).extend(value)
    return made


def predict() -> None:
    kinds = {"float32": np.float32([1, 2]), "int64": np.int64([[1], [2]]), "string": np.array([b"a", b""]),
             "bool": np.array([True, False]), "float16": np.float16([1.5]), "two": np.float32([1])}
    write("predict", **{name: tensor(value, name).SerializeToString() for name, value in kinds.items()})
    odd = {
        "content": shaped(tf.float32, [2, 2], tensor_content=np.float32([1, 2, 3, 4]).tobytes()),
        "content_short": shaped(tf.float32, [2, 2], tensor_content=b"abc"),
        "repeated": shaped(tf.float32, [100], float_val=[1.0]),
        "exploding": shaped(tf.float32, [1 << 27], float_val=[1.0]),
        "exploding_strings": shaped(tf.string, [1 << 22], string_val=[b"x"]),
        "nothing": shaped(tf.float32, [1 << 26]),
        "overflow": shaped(tf.float32, [1 << 62, 4]),
        "negative": shaped(tf.float32, [-1], float_val=[1.0]),
        "negative_product": shaped(tf.float32, [-2, -2], float_val=[1.0] * 4),
        "rank": shaped(tf.float32, [1] * 300, float_val=[1.0]),
        "zero_and_huge": shaped(tf.float32, [0, 1 << 62, 1 << 62]),
        "many_strings": shaped(tf.string, [1000], string_val=[b""] * 1000),
        "too_many": shaped(tf.int32, [1], int_val=range(900)),
        "resource": shaped(tf.resource, [1]),
    }
    write("predict", **{name: tensor(value, "string" if value.dtype == tf.string else "float32").SerializeToString()
                        for name, value in odd.items()})
    filters = tensor(np.float32([1]), "float32")
    filters.output_filter.extend(["y"] * 1000)
    inputs = predict_pb2.PredictRequest()
    inputs.model_spec.name = "types"
    for i in range(300):
        inputs.inputs[str(i)].Clear()
    write("predict", filters=filters.SerializeToString(), inputs=inputs.SerializeToString(),
          unknown=b"\x9a\x06\x03abc" * 500, nested=b"\x12\x7f" * 2000, empty=b"")


def example(**features) -> tf.train.Example:
    made = tf.train.Example()
    for name, value in features.items():
        feature = made.features.feature[name]
        if isinstance(value[0], float):
            feature.float_list.value.extend(value)
        elif isinstance(value[0], int):
            feature.int64_list.value.extend(value)
        else:
            feature.bytes_list.value.extend(value)
    return made


def examples() -> None:
    one = example(x=[2.0], x2=[3.0])
    write("example", one=one.SerializeToString(), many=example(x=[1.0] * 900).SerializeToString(),
          integers=example(x=[1, -1]).SerializeToString(), text=example(x=[b"a"], y=[b""] * 900).SerializeToString(),
          names=example(**{str(i): [i] for i in range(200)}).SerializeToString(),
          twice=one.SerializeToString() + example(x=[4.0]).SerializeToString(), empty=b"",
          unpacked=b"\x0a\x0f\x0a\x0d\x0a\x01x\x12\x08\x12\x06\x0d\x00\x00\x80\x3f\x00")
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name = "examples_tf1"
    request.input.example_list.examples.extend([one, one])
    shared = classification_pb2.ClassificationRequest()
    shared.input.example_list_with_context.examples.extend([tf.train.Example()] * 3)
    shared.input.example_list_with_context.context.CopyFrom(one)
    doubled = classification_pb2.ClassificationRequest()
    doubled.input.example_list_with_context.examples.extend([tf.train.Example()] * 900)
    doubled.input.example_list_with_context.context.CopyFrom(example(x=[1.0], y=[b"z" * 1000]))
    many = classification_pb2.ClassificationRequest()
    many.input.example_list.examples.extend([tf.train.Example()] * 2000)
    write("classify", two=request.SerializeToString(), context=shared.SerializeToString(),
          context_times_examples=doubled.SerializeToString(), many=many.SerializeToString(), empty=b"")


def tfrecord() -> None:
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.model_spec.name = "half_plus_two_tf1"
    log.predict_log.request.inputs["x"].CopyFrom(tf.make_tensor_proto(np.float32([1, 2])))
    record = log.SerializeToString()
    path = HERE / "record"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(record)
        writer.write(record)
    file = path.read_bytes()
    path.unlink()
    long = struct.pack("<Q", 1 << 60)
    write("tfrecord", file=b"\1" + file, cut=b"\1" + file[:-5], huge=b"\1" + long + b"\0" * 8, empty=b"\1",
          records=b"\0" + record + b"\n" + record, junk=b"\0junk\n\n\x0a\x00\n\x32\x02\x0a\x00",
          many=b"\0" + b"\n" * 2000)


def masked_crc32c(content: bytes) -> int:
    crc = 0xffffffff
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def bundle() -> None:
    def entry(**fields) -> bytes:
        made = tensor_bundle_pb2.BundleEntryProto(dtype=1, shard_id=0, offset=0, size=8)
        made.shape.dim.add(size=2)
        for name, value in fields.items():
            setattr(made, name, value)
        return made.SerializeToString()

    def text(value: bytes) -> bytes:
        return bytes([len(value)]) + value

    def table(**entries: bytes) -> bytes:
        header = tensor_bundle_pb2.BundleHeaderProto(num_shards=1).SerializeToString()
        pairs = {b"": header} | {name.encode("latin-1"): value for name, value in entries.items()}
        return b"\0" + b"".join(text(name) + text(value) for name, value in pairs.items())

    def parts(*places: tuple[int, int]) -> bytes:
        """Makes a tensor of two elements that is stored in parts. `places`: the start and the length of each part, below 64."""
        whole = tensor_bundle_pb2.BundleEntryProto(dtype=1)
        whole.shape.dim.add(size=2)
        entries = {}
        for start, length in places:
            whole.slices.add().extent.add(start=start, length=length)
            part = tensor_bundle_pb2.BundleEntryProto(dtype=1, size=4 * length, crc32c=masked_crc32c(b"\1" * 4 * length))
            part.shape.dim.add(size=length)
            entries[f"\0v\0\1\1\1{chr(0x80 + start)}{chr(0x80 + length)}"] = part.SerializeToString()
        return table(**entries, v=whole.SerializeToString())

    huge = tensor_bundle_pb2.BundleEntryProto(dtype=1, size=8)
    huge.shape.dim.add(size=1 << 40)
    write("bundle", one=table(a=entry()), far=table(a=entry(offset=60)), negative=table(a=entry(size=-1)),
          last=table(a=entry(offset=2**63 - 1)), huge=table(a=huge.SerializeToString()),
          shard=table(a=entry(shard_id=7)), text=table(a=entry(dtype=7, size=64)), none=b"\0", empty=b"\1",
          many=table(**{str(i): entry() for i in range(100)}), parts=parts((0, 1), (1, 1)),
          parts_overlap=parts((0, 1), (0, 2)), parts_missing=parts((1, 1)), parts_outside=parts((0, 1), (1, 2)),
          blocks=b"\3" + bytes([0, 18]) * 2, blocks_wrap=b"\3" + bytes(byte for size in range(11) for byte in (0, size)),
          blocks_outside=b"\3" + bytes([250, 18, 127, 18, 0, 255]),
          half=b"\1" + (HERE.parents[1] / "models/half_plus_two_tf1/1/variables/variables.index").read_bytes(),
          data=b"\2" + (HERE.parents[1] / "models/half_plus_two_tf1/1/variables/variables.data-00000-of-00001").read_bytes(),
          strings=b"\1" + (HERE.parents[1] / "models/strings/1/variables/variables.index").read_bytes())


def packed() -> None:
    body = b'{"instances": [1, 2, 3]}'
    bomb = gzip.compress(b"\0" * (3 << 20), mtime=0)
    write("gzip", body=gzip.compress(body, mtime=0), zlib=zlib.compress(body), cut=gzip.compress(body, mtime=0)[:-9],
          two=gzip.compress(body, mtime=0) * 2, empty=b"", junk=b"\x1f\x8b\x08" + b"\xff" * 40,
          bomb=bomb[:4000], plenty=gzip.compress(b"[" * 500_000, mtime=0),
          members=(gzip.compress(b"", mtime=0) * 200)[:4096], crc=gzip.compress(body, mtime=0)[:-8] + b"\0" * 8)


def http() -> None:
    body = b'{"instances": [1]}'
    small = gzip.compress(body, mtime=0)
    bomb = gzip.compress(b"\0" * 200_000, mtime=0)
    head = b"POST /v1/models/m:predict HTTP/1.1\r\nHost: h\r\n"
    write("http",
          get=b"GET /v1/models/m HTTP/1.1\r\nHost: h\r\n\r\n",
          pipelined=b"GET / HTTP/1.1\r\n\r\n" * 200,
          post=head + b"Content-Length: %d\r\n\r\n" % len(body) + body,
          length_lies=head + b"Content-Length: 1000000\r\n\r\n" + body,
          length_huge=head + b"Content-Length: 18446744073709551615\r\n\r\n" + body,
          lengths=head + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + body,
          both=head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          chunked=head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n1\r\n" * 500 + b"0\r\n\r\n",
          chunk_huge=head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n1\r\n",
          chunk_lies=head + b"Transfer-Encoding: chunked\r\n\r\nf0000\r\n1\r\n",
          chunk_extension=head + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"a=b;" * 900 + b"\r\n1\r\n0\r\n\r\n",
          gzip=head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(small) + small,
          bomb=head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb,
          expect=head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body) + body,
          headers=b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 600 + b"\r\n",
          long_header=b"GET / HTTP/1.1\r\na: " + b"x" * 4000 + b"\r\n\r\n",
          long_target=b"GET /" + b"x" * 4000 + b" HTTP/1.1\r\n\r\n",
          fold=b"GET / HTTP/1.1\r\na: b\r\n  c\r\n\r\n", bare=b"GET / HTTP/1.1\na: b\n\n",
          options=b"OPTIONS /v1/x HTTP/1.1\r\nOrigin: http://a\r\n\r\n", head=b"HEAD / HTTP/1.0\r\n\r\n",
          preface=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", tls=bytes.fromhex("1603010200010001fc0303") + b"\0" * 64,
          upgrade=b"GET / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n", empty=b"")


def certificate_request() -> None:
    def request(*key: str, more: tuple[str, ...] = ()) -> bytes:
        return subprocess.run(["openssl", "req", "-new", "-outform", "DER", "-nodes", "-keyout", "/dev/null", "-subj", "/CN=x",
                               "-newkey", *key, *more], capture_output=True, check=True).stdout

    p256 = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")
    good = request(*p256)
    write("certificate_request",
          good=good, cut=good[:100], empty=b"", rsa=request("rsa:1024"), p384=request("ec", "-pkeyopt", "ec_paramgen_curve:P-384"),
          explicit=request(*p256, "-pkeyopt", "ec_param_enc:explicit"), ed25519=request("ed25519"),
          names=request(*p256, more=("-addext", "subjectAltName=DNS:a,DNS:b", "-addext", "basicConstraints=CA:TRUE")))


def archive() -> None:
    def tar(*entries: tuple[str, bytes, bytes], form: int = tarfile.USTAR_FORMAT, linkname: str = "") -> bytes:
        """Makes an archive with only one block of the end mark: the fuzzer damages each byte in turn, so the corpus should be small."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=form) as out:
            for name, kind, content in entries:
                entry = tarfile.TarInfo(name)
                entry.type, entry.size, entry.linkname = kind, len(content), linkname
                out.addfile(entry, io.BytesIO(content))
            end = out.offset
        return buffer.getvalue()[:end + 512]

    file, folder = tarfile.REGTYPE, tarfile.DIRTYPE
    plain = tar(("d/", folder, b""), ("d/1/a", file, b"x"))
    long = "d/" + "n" * 60 + "/" + "m" * 60
    exact, repaired = b"\1", b"\0"
    write("archive",
          plain=repaired + plain, gzipped=exact + gzip.compress(plain, mtime=0),
          bomb=exact + gzip.compress(tar(("a", file, b"\0" * 900)) + b"\0" * 100_000, mtime=0),
          up=repaired + tar(("../a", file, b""))[:512], absolute=repaired + tar(("/a", file, b""))[:512],
          link=repaired + tar(("a", tarfile.SYMTYPE, b""), ("a/b", file, b""), linkname="/tmp"),
          hard=repaired + tar(("a", tarfile.LNKTYPE, b""), linkname="/etc/passwd")[:512],
          device=repaired + tar(("a", tarfile.CHRTYPE, b""))[:512], twice=repaired + tar(("a", file, b""), ("a", file, b"")),
          pax=repaired + tar((long, file, b"x"), form=tarfile.PAX_FORMAT),
          gnu=repaired + tar((long, file, b"x"), form=tarfile.GNU_FORMAT), cut=exact + plain[:700], empty=b"")


def npy() -> None:
    def saved(array) -> bytes:
        file = io.BytesIO()
        np.save(file, array, allow_pickle=True)
        return file.getvalue()
    write("npy", floats=saved(np.float32([[1, 2], [3, 4]])), bools=saved(np.array([True, False])),
          scalar=saved(np.int64(7)), bytes=saved(np.array([b"a", b"longer"])),
          unicode=saved(np.array(["\u00e9", "\u20ac\U0001f6a2"])),
          short_texts=saved(np.array([b"x"] * 3000)), empty=saved(np.zeros((3, 0))), objects=saved(np.array([None])),
          fortran=saved(np.asfortranarray(np.zeros((2, 3)))),
          texts_of_nothing=saved(np.float32([1])).replace(b"'<f4'", b"'|S0'").replace(b"(1,), }   ", b"(9999,), }")[:-4])


def npz() -> None:
    def saved(save, **arrays) -> bytes:
        file = io.BytesIO()
        save(file, **arrays)
        return file.getvalue()
    stored = saved(np.savez, x=np.float32([1, 2]), y=np.int64(7))
    write("npz", stored=stored, deflated=saved(np.savez_compressed, x=np.zeros(8), y=np.int64(7)), cut=stored[:-9],
          bomb=saved(np.savez_compressed, x=np.zeros(100_000)), comment=stored[:-2] + b"\3\0abc",
          empty=saved(np.savez))


def csv() -> None:
    write("csv", plain=b"x,y\n1,2\n3,4\n", quoted=b'x,"y ""z"""\r\n"1,2","a\nb\r\n"\r\n,""\r\n', mark=b"\xef\xbb\xbfx\n1",
          utf16="x\n".encode("utf-16"), short=b"x,y\n1\n", open=b'x\n"1\n', after=b'x\n"1"2\n', within=b'x\n1"\n',
          twice=b"x,x\n", empty=b"", blank=b"\n\r\n\rx\n\n\n1\n", commas=b",a,b,c,d\n" + b",,,,\n" * 99)


def saved_model() -> None:
    """Models of a few ops. half_plus_two_tf1, which the test runs too, has variables and tables of files."""
    def node(graph, op: str, *inputs: str, name: str = "", **types: int) -> None:
        made = graph.node.add(name=name or op.lower(), op=op, input=inputs)
        for key, value in types.items():
            made.attr[key].type = value

    def model(*ops: tuple, fetch: str, feed: str = "x:0") -> bytes:
        """Makes a model with one signature. `ops`: the op and its inputs, each with the type float32."""
        made = saved_model_pb2.SavedModel(saved_model_schema_version=1)
        meta = made.meta_graphs.add()
        meta.meta_info_def.tags.append("serve")
        for op, *inputs in ops:
            types = {"dtype": 1} if op in ("Const", "Placeholder", "VarHandleOp") else {"T": 1}
            node(meta.graph_def, op, *inputs, name="x" if op == "Placeholder" else "", **types)
        signature = meta.signature_def["serving_default"]
        signature.method_name = "tensorflow/serving/predict"
        for put, name in ((signature.inputs["x"], feed), (signature.outputs["y"], fetch)):
            put.name, put.dtype = name, 1
            put.tensor_shape.dim.add(size=-1)
        return made.SerializeToString()

    place = ("Placeholder",)
    add = model(place, ("AddV2", "x", "x"), fetch="addv2:0")
    deep = model(place, *[("Identity", "x" if i == 0 else "identity") for i in range(40)], fetch="identity:0")
    two = saved_model_pb2.SavedModel.FromString(add)
    two.meta_graphs.add().meta_info_def.tags.append("train")
    constant = saved_model_pb2.SavedModel.FromString(model(place, ("Const",), ("AddV2", "x", "const"), fetch="addv2:0"))
    value = constant.meta_graphs[0].graph_def.node[1].attr["value"].tensor
    value.CopyFrom(tf.make_tensor_proto(np.float32([1, 2])))
    huge = saved_model_pb2.SavedModel.FromString(constant.SerializeToString())
    huge.meta_graphs[0].graph_def.node[1].attr["value"].tensor.CopyFrom(shaped(tf.float32, [1 << 40], float_val=[1.0]))
    function = saved_model_pb2.SavedModel.FromString(add)
    made = function.meta_graphs[0].graph_def.library.function.add()
    made.signature.name = "f"
    made.signature.input_arg.add(name="a", type=1)
    made.signature.output_arg.add(name="b", type=1)
    made.ret["b"] = "f:b:0"
    made.node_def.add(name="f", op="f", input=["a"])  # It calls itself.
    function.meta_graphs[0].graph_def.node.add(name="call", op="f", input=["x"])
    function.meta_graphs[0].signature_def["serving_default"].outputs["y"].name = "call:0"
    write("saved_model", add=add, constant=constant.SerializeToString(), huge_constant=huge.SerializeToString(),
          same_name_often=deep, cycle=model(place, ("Neg", "abs"), ("Abs", "neg"), fetch="abs:0"),
          function_calls_itself=function.SerializeToString(), two_graphs=two.SerializeToString(),
          unknown_op=model(place, ("Frobnicate", "x"), fetch="frobnicate:0"),
          missing_input=model(place, ("Neg", "z"), fetch="neg:0"), missing_output=model(place, fetch="z:7"),
          too_few_inputs=model(place, ("AddV2", "x"), fetch="addv2:0"),
          matrix_of_vectors=model(place, ("MatMul", "x", "x"), fetch="matmul:0"),
          control=model(place, ("Neg", "x", "^x", "^neg"), fetch="neg:0"),
          loop=model(place, ("Enter", "x"), ("Merge", "enter", "nextiteration"), ("NextIteration", "merge"), fetch="merge:0"),
          variable=model(place, ("VarHandleOp",), ("ReadVariableOp", "varhandleop"), fetch="readvariableop:0"),
          cut=add[:-9], empty=b"")


def oip_json() -> None:
    def body(*inputs: str, more: str = "", binary: bytes | None = None) -> bytes:
        text = ('{"inputs":[' + ",".join(inputs) + "]" + more + "}").encode()
        return (len(text).to_bytes(2) + text + binary) if binary is not None else b"\xff\xff" + text

    def given(kind: str, shape: str, data: str) -> str:
        return f'{{"name":"x{len(data)}","datatype":"{kind}","shape":{shape},"data":{data}}}'

    def following(kind: str, shape: str, size: int, name: str = "b") -> str:
        return f'{{"name":"{name}","datatype":"{kind}","shape":{shape},"parameters":{{"binary_data_size":{size}}}}}'
    write("oip_json",
          plain=body(given("FP32", "[3,1]", "[1,2.5,-3e1]"), more=',"id":"7","parameters":{"timeout":5,"p":"q"}'),
          nested=body(given("INT64", "[2,1]", "[[9223372036854775807],[-9223372036854775808]]")),
          bools=body(given("BOOL", "[3]", "[true,0,false]")), texts=body(given("BYTES", "[2]", '["a","\\u00e9"]')),
          outputs=body(given("UINT8", "[1]", "[255]"), more=',"outputs":[{"name":"y","parameters":{"classification":2}}]'),
          binary=body(following("FP32", "[2]", 8), following("BYTES", "[2]", 9, "c"),
                      binary=b"12345678" + b"\1\0\0\0a" + b"\0\0\0\0"),
          binary_short=body(following("FP32", "[2]", 8), binary=b"1234"),
          long_text=body(following("BYTES", "[1]", 4), binary=b"\xff" * 4),
          huge_shape=body(given("FP64", "[1000000,1000000,1000000]", "[1]")),
          many_missing=body(given("BYTES", "[100000]", "[" + '"",' * 1000 + '""]')),
          many_texts=body(given("BYTES", "[1001]", "[" + '"",' * 1000 + '""]')),
          deep=b"\xff\xff" + b'{"inputs":' + b"[" * 3000, twice=body(given("FP32", "[1]", "[1]"), given("FP32", "[1]", "[2]")),
          nulls=body(more=',"id":null,"outputs":null,"parameters":null'), empty=b"\xff\xff", no_inputs=b"\xff\xff{}")


def oip_grpc() -> None:
    def field(number: int, content: bytes) -> bytes:
        """A field of a message; all of these messages have at most 127 bytes."""
        return bytes([number << 3 | 2, len(content)]) + content

    def given(kind: bytes, shape: bytes, contents: bytes = b"") -> bytes:
        return field(5, field(1, b"x") + field(2, kind) + field(3, shape) + contents)
    floats = field(5, field(6, struct.pack("<2f", 1, 2)))
    parameter = field(4, field(1, b"timeout") + field(2, b"\x10\x05"))
    classes = field(6, field(1, b"x") + field(2, field(1, b"classification") + field(2, b"\x10\1")))
    write("oip_grpc", typed=field(1, b"m") + given(b"FP32", b"\2", floats), raw=given(b"FP32", b"\2") + field(7, b"12345678"),
          texts=given(b"BYTES", b"\2", field(5, field(8, b"a") + field(8, b""))), half=given(b"FP16", b"\1") + field(7, b"ab"),
          raw_texts=given(b"BYTES", b"\1") + field(7, b"\1\0\0\0a"), parameters=parameter + given(b"UINT8", b"\0"),
          both=given(b"FP32", b"\2", floats) + field(7, b"12345678"), huge_shape=given(b"INT8", b"\xff" * 9 + b"\1"),
          outputs=given(b"INT32", b"\1", field(5, field(2, b"\7"))) + classes,
          empty_rows=given(b"FP32", b"\x80" * 7 + b"\2" + b"\0") + field(7, b"") + classes,  # The shape is [2^50, 0].
          many_empty_rows=given(b"FP32", b"\xa0\x8d\6" + b"\0") + field(7, b"") + classes,  # [100000, 0]
          # An input and its datatype state more bytes than the request has.
          lengths=b"\x2a\xff\xff\x18\x0a\1x\x12\xff\xff\x04" + b"BYTES\x1a\1\2" + b"\x2a\xff\x42\1a" + field(8, b""))


def trace() -> None:
    parent = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    write("trace",
          parent=parent,
          future=b"cc" + parent[2:] + b"-what-the-future-will-be-like",
          state=parent + b"\nrojo=00f067aa0ba902b7,congo=t61rcWkgMzE\nfw529a3039@dt=a b, x-/*_9=!~ ,,",
          members=parent + b"\n" + b"a=1," * 33,
          long_state=parent + b"\n" + b",".join(b"k%d=" % i + b"v" * 250 for i in range(15)),
          pairs=b"api-key=a%20secret, team = vision ,b=1=2,c=%zz%4",
          many_pairs=b"a=," * 1365)


if __name__ == "__main__":
    for make in (archive, json_predict, json_examples, predict, examples, tfrecord, bundle, packed, http, certificate_request,
                 npy, npz, csv, oip_json, oip_grpc, saved_model, trace):
        make()
    write("http2", **corpus_http2.inputs())
