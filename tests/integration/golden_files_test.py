"""`longshore golden` and `longshore check-version` as a user runs them. Python's csv module, NumPy and real TensorFlow write the
inputs, and TensorFlow reads what was made. The examples of docs/golden-sets.md run as they are written.

Needs TensorFlow, which ./dev setup installs: ./dev test golden_files_test
"""

import csv
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import zipfile

import numpy as np
import pytest

from harness import BIN, MODELS, ROOT, Installation, wait_for

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
tf = pytest.importorskip("tensorflow")
prediction_log_pb2 = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")

DIGITS = MODELS / "digits"
HALF = MODELS / "half_plus_two_tf2"
HOME = "/home/anna"  # The folder of the examples in the document.


def longshore(*words, cwd=None):
    return subprocess.run([BIN / "longshore", *map(str, words)], capture_output=True, text=True, timeout=60, check=False, cwd=cwd)


def made(*words):
    """The records of the golden set that the command makes."""
    out = words[words.index("--out") + 1]
    ended = longshore("golden", *words)
    assert ended.returncode == 0, ended.stderr
    return records_of(out)


def records_of(path):
    logs = [prediction_log_pb2.PredictionLog.FromString(bytes_.numpy()) for bytes_ in tf.data.TFRecordDataset(str(path))]
    return [log.predict_log for log in logs]


def input_of(record, name):
    return tf.make_ndarray(record.request.inputs[name])


def answer_of(record, name):
    return tf.make_ndarray(record.response.outputs[name])


def images(count):
    return np.fromfile(DIGITS / "traffic.f32", "<f4").reshape(-1, 8, 8, 1)[:count]


def labels(count):
    return [int(line) for line in (DIGITS / "traffic_labels.txt").read_text().split()[:count]]


def write_logs(path, logs):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for log in logs:
            writer.write(log.SerializeToString())


def half_log(x, y=None, signature="", content=True):
    """A request as TensorFlow Serving logs it: the tensor has its elements in tensor_content or in float_val."""
    log = prediction_log_pb2.PredictionLog()
    request = log.predict_log.request
    request.model_spec.name = "half"
    request.model_spec.version.value = 1
    request.model_spec.signature_name = signature
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(x, tf.float32))
    if not content:
        request.inputs["x"].tensor_content = b""
        request.inputs["x"].float_val.extend(x)
    if y is not None:
        log.predict_log.response.outputs["y"].CopyFrom(tf.make_tensor_proto(y, tf.float32))
    log.log_metadata.model_spec.name = "half"
    log.log_metadata.sampling_config.sampling_rate = 0.1
    return log


# Tables.

STYLES = {
    "excel": {"lineterminator": "\r\n"},
    "unix": {"lineterminator": "\n", "quoting": csv.QUOTE_ALL},
    "nonnumeric": {"quoting": csv.QUOTE_NONNUMERIC},
    "semicolon": {"delimiter": ";"},
    "tab": {"delimiter": "\t"},
}
TEXTS = ["plain", 'say "hi"', "a, b; c\td", "two\nlines", "two\r\nlines", "", " spaces ", "\u00c9t\u00e9 \U0001f600", '"', "[1, 2]"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("style", STYLES)
def test_texts_that_pythons_csv_module_writes_arrive_unchanged(style, encoding, tmp_path):
    with (tmp_path / "texts.csv").open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, **STYLES[style])
        writer.writerows([["comment", "word"], *(["-", text] for text in TEXTS)])
    separator = {"semicolon": ";", "tab": "tab"}.get(style, ",")
    records = made("from-csv", tmp_path / "texts.csv", "--model", MODELS / "strings", "--out", tmp_path / "out",
                   "--separator", separator, "--output", "length")
    assert [input_of(record, "word")[0].decode() for record in records] == TEXTS
    signature = tf.saved_model.load(str(MODELS / "strings/1")).signatures["serving_default"]
    want = signature(word=tf.constant(TEXTS))["length"].numpy().tolist()
    assert [answer_of(record, "length").tolist() for record in records] == [[length] for length in want]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8", "uint64", "bool"])
def test_numbers_of_every_type_have_the_bits_that_numpy_has(dtype, tmp_path):
    if dtype == "bool":
        values = np.array([True, False])
    elif dtype.startswith("float"):
        values = np.array([0.1, -1 / 3, np.finfo(dtype).max, np.finfo(dtype).tiny, 7], dtype)
    else:
        values = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 7], dtype)
    with (tmp_path / "numbers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["x"], *([str(value)] for value in values)])
    records = made("from-csv", tmp_path / "numbers.csv", "--model", MODELS / "types", "--signature", dtype, "--out", tmp_path / "out")
    got = np.concatenate([input_of(record, "x").reshape(-1) for record in records])
    assert got.dtype == values.dtype
    np.testing.assert_array_equal(got, values)


def test_labels_make_the_score_the_accuracy_that_tensorflow_computes(tmp_path):
    count = 150
    with (tmp_path / "digits.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *(f"image[{i}]" for i in range(64)), "digit"])  # pandas names its index column "".
        for number, (image, label) in enumerate(zip(images(count), labels(count), strict=True)):
            writer.writerow([number, *image.reshape(-1).tolist(), f"{label}.0"])
    records = made("from-csv", tmp_path / "digits.csv", "--model", DIGITS / "1", "--label", "digit", "--out", tmp_path / "out")
    np.testing.assert_array_equal(np.concatenate([input_of(record, "image") for record in records]), images(count))
    for version in (1, 2, 3):
        answers = tf.saved_model.load(str(DIGITS / str(version))).signatures["serving_default"](image=tf.constant(images(count)))
        right = int(np.sum(np.argmax(answers["probabilities"], 1) == labels(count)))
        shown = json.loads(longshore("check-version", DIGITS / str(version), "--golden", tmp_path / "out", "--json").stdout)
        assert (shown["records"], shown["passed"]) == (count, right), version


# Logs.

def test_from_log_reads_what_tensorflow_writes(tmp_path):
    write_logs(tmp_path / "log", [half_log([2.0], [3.0]), half_log([1.0, 4.0], [2.5, 4.0], "serving_default", content=False),
                                  half_log([5.0])])
    records = made("from-log", tmp_path / "log", "--out", tmp_path / "out")
    assert [input_of(record, "x").tolist() for record in records] == [[2.0], [1.0, 4.0]]
    assert [answer_of(record, "y").tolist() for record in records] == [[3.0], [2.5, 4.0]]
    assert {record.request.model_spec.signature_name for record in records} == {"serving_default"}
    checked = longshore("check-version", HALF, "--golden", tmp_path / "out", "--metric", "tolerance", "--minimum", 1)
    assert checked.returncode == 0, checked.stdout


def test_from_log_reads_a_file_that_tensorflow_has_compressed(tmp_path):
    logs = [half_log([2.0], [3.0]), half_log([4.0], [4.0])]
    with tf.io.TFRecordWriter(str(tmp_path / "log"), tf.io.TFRecordOptions(compression_type="GZIP")) as writer:
        for log in logs:
            writer.write(log.SerializeToString())
    records = made("from-log", tmp_path / "log", "--out", tmp_path / "out")
    assert [input_of(record, "x").tolist() for record in records] == [[2.0], [4.0]]
    (tmp_path / "cut").write_bytes((tmp_path / "log").read_bytes()[:-9])
    assert f"{tmp_path / 'cut'}: the gzip file is incomplete" in longshore("golden", "from-log", tmp_path / "cut", "--out", tmp_path / "x").stderr
    shown = longshore("golden", "show", tmp_path / "log")
    assert "the file is compressed with gzip: decompress it with gunzip" in shown.stderr, shown


def test_from_model_answers_warm_up_requests_of_all_methods(tmp_path):
    example = tf.train.Example()
    example.features.feature["x"].float_list.value.append(2.0)
    classify = prediction_log_pb2.PredictionLog()
    classify.classify_log.request.model_spec.signature_name = "classify_x"
    classify.classify_log.request.input.example_list.examples.append(example)
    regress = prediction_log_pb2.PredictionLog()
    regress.regress_log.request.model_spec.signature_name = "regress_x"
    regress.regress_log.request.input.example_list.examples.append(example)
    write_logs(tmp_path / "log", [half_log([[2.0]]), classify, regress])
    left_out = longshore("golden", "from-log", tmp_path / "log", "--out", tmp_path / "none")
    assert left_out.returncode == 1
    assert "left out 2 records of other methods than Predict" in left_out.stderr
    model = MODELS / "examples_tf1"
    records = made("from-model", model, "--inputs", tmp_path / "log", "--out", tmp_path / "out")
    signatures = tf.saved_model.load(str(model / "1")).signatures
    examples = tf.constant([example.SerializeToString()])
    want = [signatures["serving_default"](x=tf.constant([[2.0]]))["y"], signatures["classify_x"](inputs=examples)["scores"],
            signatures["regress_x"](inputs=examples)["outputs"]]
    got = [answer_of(record, name) for record, name in zip(records, ["y", "scores", "outputs"], strict=True)]
    assert [answer.tolist() for answer in got] == [answer.numpy().tolist() for answer in want]
    checked = longshore("check-version", model, "--golden", tmp_path / "out", "--metric", "tolerance")
    assert checked.returncode == 0, checked.stdout


# Arrays.

@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_numpy_get_the_answers_that_tensorflow_gives(save, tmp_path):
    save(tmp_path / "images.npz", image=images(7))
    records = made("from-model", DIGITS / "2", "--inputs", tmp_path / "images.npz", "--out", tmp_path / "out")
    want = tf.saved_model.load(str(DIGITS / "2")).signatures["serving_default"](image=tf.constant(images(7)))
    np.testing.assert_array_equal(np.concatenate([input_of(record, "image") for record in records]), images(7))
    np.testing.assert_allclose(np.concatenate([answer_of(record, "probabilities") for record in records]),
                               want["probabilities"], atol=1e-5)
    np.testing.assert_array_equal(np.concatenate([answer_of(record, "label") for record in records]), want["label"])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_archives_are_refused(save, tmp_path):
    save(tmp_path / "images.npz", image=images(2))
    whole = (tmp_path / "images.npz").read_bytes()
    assert zipfile.is_zipfile(tmp_path / "images.npz")
    for at in range(0, len(whole), 29):
        (tmp_path / "images.npz").write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
        ended = longshore("golden", "from-model", DIGITS / "2", "--inputs", tmp_path / "images.npz", "--out", tmp_path / "out")
        assert ended.returncode in (0, 1), (at, ended)  # Some bytes, such as those of dates, do not matter.
        if ended.returncode == 0:
            np.testing.assert_array_equal(np.concatenate([input_of(record, "image") for record in records_of(tmp_path / "out")]),
                                          images(2), str(at))
    (tmp_path / "images.npz").write_bytes(whole[:-30])
    ended = longshore("golden", "from-model", DIGITS / "2", "--inputs", tmp_path / "images.npz", "--out", tmp_path / "out")
    assert ended.returncode == 1
    assert "images.npz: it is not a complete .npz archive" in ended.stderr


# Versions.

def test_check_version_takes_rules_and_versions_from_a_model(tmp_path):
    with Installation() as it:
        source = tmp_path / "half"
        (source / "golden").mkdir(parents=True)
        (source / "1").symlink_to(HALF / "1")
        (source / "2").symlink_to(DIGITS / "1")
        write_logs(source / "golden/set", [half_log([2.0], [3.0]), half_log([4.0], [5.0])])
        it.apply_fleet()
        it.apply_model("half", source, 1, extra="  validation: {goldenSet: {path: golden/set, metric: tolerance, minimum: 0.5}}\n")
        it.start_controller()
        it.wait_for_stable("half", 1)
        passes = it.command("check-version", str(source / "1"), "--model", "half")
        assert passes.returncode == 0, passes
        assert "rules       Model default/half\n" in passes.stdout
        assert f"must accept the requests of {source}/1\n" in passes.stdout
        assert "score       0.5000; at least 0.5000\n" in passes.stdout
        assert "record 1, signature serving_default: output \"y\" is 4 at index 0, not 5\n" in passes.stdout
        other = it.command("check-version", str(source / "2"), "--model", "half")
        assert other.returncode == 1, other
        assert "SignatureChanged" in other.stdout
        assert it.command("check-version", str(source / "1"), "--model", "none").returncode == 3


def test_a_missing_version_or_golden_set_has_its_own_exit_code(tmp_path):
    for words in ((HALF / "1", "--golden", tmp_path / "none"), (tmp_path / "none", "--golden", tmp_path / "set")):
        ended = longshore("check-version", *words)
        assert ended.returncode == 3 and f"{tmp_path / 'none'} does not exist" in ended.stderr, ended


def test_a_version_that_crashes_its_process_would_not_pass(tmp_path):
    """A signal stands for a version that crashes its process. Until then the process waits for the other end of a pipe."""
    os.mkfifo(tmp_path / "set")
    with subprocess.Popen([BIN / "longshore", "check-version", HALF / "1", "--golden", tmp_path / "set", "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        children = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children")
        [child] = wait_for("the process that runs the version", lambda: children.read_text().split())
        os.kill(int(child), signal.SIGSEGV)
        shown, notes = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "the process that ran the version was killed by signal 11 (SIGSEGV)" in notes
    judged = json.loads(shown)
    assert not judged["passes"] and "SIGSEGV" in judged["reason"] and judged["version_dir"] == str(HALF / "1")


def test_a_damaged_record_is_named_with_its_offset(tmp_path):
    write_logs(tmp_path / "set", [half_log([2.0], [3.0]), half_log([4.0], [4.0])])
    whole = bytearray((tmp_path / "set").read_bytes())
    second = 16 + struct.unpack_from("<Q", whole)[0]
    whole[-5] ^= 1
    (tmp_path / "set").write_bytes(whole)
    for words in (("golden", "check", tmp_path / "set", "--model", HALF), ("golden", "show", tmp_path / "set")):
        ended = longshore(*words)
        assert ended.returncode == 1
        assert f"{tmp_path}/set: record 1 at byte {second}: the checksum of the record does not match" in ended.stderr


# The document.

def examples():
    """(command, output) of each example in docs/golden-sets.md, in order."""
    text = (ROOT / "docs/golden-sets.md").read_text()
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            lines = part.splitlines(keepends=True)
            following = next((i for i, line in enumerate(lines[1:], 1) if not line.startswith("> ")), len(lines))
            yield lines[0] + "".join(line[2:] for line in lines[1:following]), "".join(lines[following:])


def test_the_examples_of_the_document_print_what_it_says(tmp_path):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    ran = 0
    for command, output in examples():
        ended = subprocess.run(["bash", "-c", command], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               timeout=60, check=False, env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"})
        assert ended.stdout.replace(str(tmp_path), HOME) == output, command
        ran += 1
    assert ran > 10
