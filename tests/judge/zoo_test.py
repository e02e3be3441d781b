"""Models as people bring them (tests/models/zoo.py): `longshore-model run` gives TensorFlow's numbers."""

import base64
import json
import pathlib
import subprocess

import numpy as np
import pytest
import tensorflow as tf

import zoo
from serving import BINARY

MODEL = BINARY.parent / "longshore-model"
TOLERANCE = 1e-4  # Of the largest value of the output, or of 1 where all are smaller.
BATCHES, BATCHES_OF_LARGE = (1, 3, 8), (1, 2)
RANKED = {"probabilities", "logits", "scores"}  # Outputs of which the first place is what a client reads.
RUN_SECONDS = 120

MIX_ROWS = {"branches"}  # What becomes of a row is decided by all of them.
# The engine can tell.
ROWS_APART = ["mlp", "mobilenet_v2", "efficientnet_b0", "resnet50", "inception_v3", "densenet121", "bert_base"]
NOT_OF_ZEROS = {"jpeg", "parse_example"}  # What they take is no text of no letters.


def _model(*words) -> subprocess.CompletedProcess:
    return subprocess.run([MODEL, *map(str, words)], capture_output=True, text=True, timeout=RUN_SECONDS)


def _as_json(value):
    if isinstance(value, (bytes, str)):
        text = value if isinstance(value, bytes) else value.encode()
        return {"b64": base64.b64encode(text).decode()}
    return [_as_json(part) for part in value] if isinstance(value, list) else value


def _flags_of(inputs: dict[str, np.ndarray], folder: pathlib.Path) -> list[str]:
    """Numbers go by file; texts may end in zero bytes, which numpy's files lose."""
    if any(value.dtype == object for value in inputs.values()):
        (folder / "inputs.json").write_text(
            json.dumps({"inputs": {name: _as_json(value.tolist()) for name, value in inputs.items()}}))
        return ["--inputs", folder / "inputs.json"]
    flags = []
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        flags += ["--input", f"{name}={folder / name}.npy"]
    return flags


def _answers(version_dir: pathlib.Path, inputs: dict[str, np.ndarray], folder: pathlib.Path,
             threads: int = 1, flags: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    out = folder / "out"
    ran = _model("run", version_dir, *_flags_of(inputs, folder), "--out", out, "--threads", threads, *flags)
    assert ran.returncode == 0, ran.stderr
    return {file.stem: np.load(file) for file in out.glob("*.npy")}


def _assert_same(name: str, got: np.ndarray, want: np.ndarray) -> None:
    assert got.shape == want.shape, name
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, name)
        return
    assert got.dtype == want.dtype, name
    worst, limit = np.abs(got - want).max(), TOLERANCE * max(1.0, np.abs(want).max())
    assert worst <= limit, f"{name}: off by {worst}, the limit is {limit}"
    if name in RANKED:
        np.testing.assert_array_equal(got.argmax(-1), want.argmax(-1), name)


def _assert_tells_rows_apart(outputs: dict[str, np.ndarray]) -> None:
    """Otherwise that the numbers agree would say little."""
    assert any(not np.allclose(value[0], value[1], atol=10 * TOLERANCE) for value in outputs.values()
               if value.dtype.kind == "f")


@pytest.mark.parametrize("name", zoo.MODELS)
def test_a_model_of_the_zoo_answers_what_tensorflow_answers(name, tmp_path):
    version_dir = zoo.path(name)
    loaded = tf.saved_model.load(str(version_dir))
    for batch in BATCHES_OF_LARGE if zoo.MODELS[name].is_large else BATCHES:
        inputs = zoo.inputs(name, batch)
        folder = tmp_path / str(batch)
        folder.mkdir()
        want = loaded.signatures["serving_default"](**{key: tf.constant(value) for key, value in inputs.items()})
        want = {key: value.numpy() for key, value in want.items()}
        got = _answers(version_dir, inputs, folder)
        assert got.keys() == want.keys()
        for output, value in want.items():
            _assert_same(output, got[output], value)
        if batch > 1:
            _assert_tells_rows_apart(want)


def _assert_same_bits(got: dict[str, np.ndarray], want: dict[str, np.ndarray], what: str) -> None:
    assert got.keys() == want.keys()
    for output in want:
        assert got[output].tobytes() == want[output].tobytes(), f"{output}: {what}"


@pytest.mark.parametrize("name", zoo.MODELS)
def test_a_row_has_the_same_bits_whatever_its_neighbours_its_place_the_threads_and_the_run(name, tmp_path):
    batch = 4 if zoo.MODELS[name].is_large else 8
    kept = batch // 2
    version_dir, all_rows = zoo.path(name), zoo.inputs(name, batch + kept)
    places = np.random.default_rng(11).permutation(batch)  # Of the rows that are kept, and of others.
    moved = np.empty(batch, int)
    moved[places] = [*range(kept), *range(batch, batch + kept)]

    def answers(folder, rows, threads=1, stranger=None):
        inputs = {key: value[rows].copy() for key, value in all_rows.items()}
        for value in inputs.values():
            if stranger is not None and value.dtype.kind == "f":
                value[places[-1]] = stranger
        (tmp_path / folder).mkdir()
        return _answers(version_dir, inputs, tmp_path / folder, threads)

    def of_kept(outputs):
        return {key: value[places[:kept]] for key, value in outputs.items()}

    once = answers("once", np.arange(batch))
    _assert_same_bits(answers("again", np.arange(batch)), once, "another run")
    _assert_same_bits(answers("threads", np.arange(batch), threads=2), once, "two threads")
    if name in MIX_ROWS:
        return
    want = {key: value[:kept] for key, value in once.items()}
    _assert_same_bits(of_kept(answers("moved", moved)), want, "other places and neighbours")
    _assert_same_bits(of_kept(answers("moved2", moved, threads=2)), want, "other places and neighbours, two threads")
    for stranger in (np.nan, np.inf, 3e38):
        got = answers(f"beside {stranger}", moved, stranger=stranger)
        _assert_same_bits(of_kept(got), want, f"beside a row of {stranger}")


@pytest.mark.parametrize("name", ROWS_APART)
def test_where_it_is_asked_for_a_row_has_the_same_bits_in_batches_of_any_size(name, tmp_path):
    inputs = zoo.inputs(name, 3)

    def answers(folder, rows, threads):
        (tmp_path / folder).mkdir()
        some = {key: value[rows].copy() for key, value in inputs.items()}
        return _answers(zoo.path(name), some, tmp_path / folder, threads, ("--deterministic",))

    explained = _model("explain", zoo.path(name), "--deterministic", *_flags_of(inputs, tmp_path), "--json")
    assert json.loads(explained.stdout)["rows_at_once"] == 1
    together = answers("together", np.arange(3), threads=2)
    for rows in ([0], [1, 2]):
        _assert_same_bits(answers(str(rows), np.array(rows), 1), {key: value[rows] for key, value in together.items()}, rows)


@pytest.mark.parametrize("name", zoo.MODELS)
def test_what_is_served_is_said_to_be_supported(name):
    checked = _model("check", zoo.path(name))
    assert checked.returncode == 0, checked.stdout
    assert ("fails with zeros" if name in NOT_OF_ZEROS else "FLOP") in checked.stdout


def test_a_row_is_the_same_in_every_batch():
    """What the tests above and benchmarks rely on."""
    for name in zoo.MODELS:
        one, three = zoo.inputs(name, 1), zoo.inputs(name, 3)
        for key in one:
            np.testing.assert_array_equal(one[key], three[key][:1], f"{name}: {key}")
