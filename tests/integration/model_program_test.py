"""`longshore model` as a user runs it: its output agrees with real TensorFlow, and its errors name the cause.

Needs TensorFlow, which ./dev setup installs: ./dev test model_program_test
"""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from harness import BIN, MODELS

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
tf = pytest.importorskip("tensorflow")
types_pb2 = pytest.importorskip("tensorflow.core.framework.types_pb2")

VERSIONS = sorted(str(path.parent.relative_to(MODELS)) for path in MODELS.glob("*/*/saved_model.pb"))


def longshore_model(*words, stdin=None, program=(BIN / "longshore", "model"), env=None):
    return subprocess.run([*map(str, program), *map(str, words)], input=stdin, capture_output=True, text=True,
                          timeout=60, env=env)


def output_of(*words, stdin=None) -> str:
    ended = longshore_model(*words, stdin=stdin)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def loaded(version: str):
    return tf.saved_model.load(str(MODELS / version)).signatures


def images(count: int) -> np.ndarray:
    return np.fromfile(MODELS / "digits/traffic.f32", "<f4").reshape(-1, 8, 8, 1)[:count]


@pytest.mark.parametrize("version", VERSIONS)
def test_show_prints_the_signatures_that_tensorflow_reads(version):
    [graph] = json.loads(output_of("show", MODELS / version, "--json"))["graphs"]
    assert graph["tensorflow_version"].startswith("2.")
    for name, signature in loaded(version).items():
        shown = graph["signatures"][name]
        for key, spec in signature.structured_input_signature[1].items():
            assert shown["inputs"][key]["dtype"] == types_pb2.DataType.Name(spec.dtype.as_datatype_enum)
            rank_is_open = spec.shape.rank is None
            assert shown["inputs"][key]["shape"] == (
                None if rank_is_open else [-1 if size is None else size for size in spec.shape])
        assert shown["outputs"].keys() == signature.structured_outputs.keys()


def test_show_counts_a_partitioned_variable_once(tmp_path):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        with v1.variable_scope("parts", partitioner=v1.fixed_size_partitioner(3)):
            x = v1.placeholder(tf.float32, [None, 12])
            y = x @ v1.get_variable("kernel", [12, 5])
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "1"), {"x": x}, {"y": y})
    shown = json.loads(output_of("show", tmp_path / "1", "--json"))
    assert (shown["variables"]["count"], shown["variables"]["bytes"]) == (1, 12 * 5 * 4)


@pytest.mark.parametrize("version", VERSIONS)
def test_check_reports_that_the_model_is_supported(version):
    output = output_of("check", MODELS / version, "--ops")
    assert f"{version}: supported" in output
    assert "memory" in output


@pytest.mark.parametrize("version", ["digits/1", "digits/2", "digits/5"])
@pytest.mark.parametrize("count", [1, 7])
def test_run_with_files_gives_tensorflows_numbers(version, count, tmp_path):
    np.save(tmp_path / "image.npy", images(count))
    output_of("run", MODELS / version, "--input", f"image={tmp_path}/image.npy", "--out", tmp_path / "out")
    want = loaded(version)["serving_default"](image=tf.constant(images(count)))
    got = {name: np.load(tmp_path / "out" / f"{name}.npy") for name in want}
    np.testing.assert_allclose(got["probabilities"], want["probabilities"], atol=1e-5)
    np.testing.assert_array_equal(got["label"], want["label"])
    assert got["label"].dtype == np.int64


def test_run_with_json_gives_tensorflows_numbers_and_texts():
    words = ["One", "nine", "\u00c9t\u00e9", ""]
    body = json.dumps({"inputs": {"word": words}})
    answer = json.loads(output_of("run", MODELS / "strings/1", "--inputs", "-", stdin=body))
    want = loaded("strings/1")["serving_default"](word=tf.constant(words))
    assert answer["outputs"]["number"] == want["number"].numpy().tolist()
    assert answer["outputs"]["length"] == want["length"].numpy().tolist()
    assert answer["outputs"]["greeting"] == [text.decode() for text in want["greeting"].numpy()]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
                                   "uint32", "uint64", "bool", "S5", "U5"])
def test_every_type_can_be_read_from_and_written_to_numpy_files(dtype, tmp_path):
    x = np.array([["a", "bcd"], ["", "\u20ac"]]) if dtype == "U5" else np.array([[0, 1], [1, 1]]).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    signature = "string" if dtype[0] in "SU" else dtype
    output_of("run", MODELS / "types/1", "--signature", signature, "--input", f"x={tmp_path}/x.npy", "--out", tmp_path)
    got = np.load(tmp_path / "y.npy")
    np.testing.assert_array_equal(np.char.decode(got, "utf-8") if dtype == "U5" else got, x)
    assert got.dtype == x.dtype or dtype[0] in "SU"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_quantised_integers_are_plain_integers_in_numpy_files(dtype, tmp_path):
    """numpy has no quantised types: TensorFlow represents such a value as a record with one integer."""
    limits = np.iinfo(dtype)
    x = np.array([[limits.min, limits.max]], dtype)
    assert tf.as_dtype(f"q{dtype}").as_numpy_dtype == np.dtype([(f"q{dtype}", dtype)])
    np.save(tmp_path / "x.npy", x)
    output_of("run", MODELS / "types/1", "--signature", f"q{dtype}", "--input", f"x={tmp_path}/x.npy", "--out", tmp_path)
    got = np.load(tmp_path / "y.npy")
    np.testing.assert_array_equal(got, x)
    assert got.dtype == x.dtype


def test_run_reports_its_duration_and_the_time_of_each_op(tmp_path):
    np.save(tmp_path / "image.npy", images(2))
    ended = longshore_model("run", MODELS / "digits", "--input", f"image={tmp_path}/image.npy", "--output", "label",
                            "--repeat", 5, "--profile")
    assert json.loads(ended.stdout)["outputs"] == loaded("digits/5")["serving_default"](
        image=tf.constant(images(2)))["label"].numpy().tolist()
    assert "its newest version" in ended.stderr
    assert "ran 5 times" in ended.stderr
    assert "Conv2D" in ended.stderr


WRONG = {
    "of another type": (np.zeros((1, 8, 8, 1)),
                        ["image.npy", 'input "image"', "DT_FLOAT [-1,8,8,1]", "DT_DOUBLE [1,8,8,1]"]),
    "of another shape": (np.zeros((8, 8), np.float32), ['input "image"', "DT_FLOAT [-1,8,8,1]", "DT_FLOAT [8,8]"]),
    "in Fortran order": (np.asfortranarray(np.zeros((2, 8, 8, 1), np.float32)), ["image.npy", "Fortran order"]),
    "of big-endian numbers": (np.zeros((1, 8, 8, 1), ">f4"), ["image.npy", "big-endian"]),
    "of Python objects": (np.array([None]), ["image.npy", "Python objects", "--inputs"]),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_array_that_does_not_fit_the_input_is_reported(what, tmp_path):
    array, words = WRONG[what]
    np.save(tmp_path / "image.npy", array, allow_pickle=True)
    ended = longshore_model("run", MODELS / "digits/1", "--input", f"image={tmp_path}/image.npy")
    assert ended.returncode == 1 and not ended.stdout
    assert all(word in ended.stderr for word in words), ended.stderr


def test_damaged_and_missing_files_are_named(tmp_path):
    for words, message in {
        ("show", tmp_path / "nothing"): "does not exist",
        ("show", tmp_path): "neither saved_model.pb nor a folder named by a number",
        ("run", MODELS / "digits/1", "--input", f"image={tmp_path}/none.npy"): "none.npy",
        ("run", MODELS / "digits/1", "--inputs", f"{MODELS}/README.md"): "README.md: JSON Parse error",
        ("run", MODELS / "digits/1", "--signature", "other"): "its signatures are: serve, serving_default",
        ("run", MODELS / "digits/1"): 'input "image" is missing',
    }.items():
        ended = longshore_model(*words)
        assert ended.returncode == 1 and message in ended.stderr, ended.stderr
    version = shutil.copytree(MODELS / "digits/1", tmp_path / "1")
    variables = version / "variables/variables.data-00000-of-00001"
    variables.write_bytes(variables.read_bytes()[:100])
    ended = longshore_model("check", tmp_path)
    assert ended.returncode == 1 and "variables.data-00000-of-00001" in ended.stdout + ended.stderr


def test_wrong_usage_and_help_have_the_exit_status_of_other_verbs():
    assert longshore_model("run").returncode == 2
    assert longshore_model("no-such-verb").returncode == 2
    for words in (["--help"], ["show", "--help"], ["check", "--help"], ["run", "--help"]):
        assert "longshore model" in output_of(*words)
    late = longshore_model("show", "x", program=[BIN / "longshore", "--manifests", "/tmp", "model"])
    assert late.returncode == 2 and "longshore model show DIR" in late.stderr


def test_longshore_model_is_searched_next_to_longshore_and_then_in_path(tmp_path):
    copied = shutil.copy(BIN / "longshore", tmp_path)
    missing = longshore_model("show", MODELS / "digits", program=[copied, "model"], env={"PATH": "/usr/bin"})
    assert missing.returncode == 1 and "program longshore-model was found neither in" in missing.stderr
    found = longshore_model("show", MODELS / "digits", program=[copied, "model"], env={"PATH": str(BIN)})
    assert found.returncode == 0, found.stderr
