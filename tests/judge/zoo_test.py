"""`longshore-model run` gives TensorFlow's numbers for the typical models in tests/models/zoo.py."""

import base64
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import tensorflow as tf

import zoo
from serving import BINARY

MODEL = BINARY.parent / "longshore-model"
TOLERANCE = 1e-4  # Relative to the largest absolute value of the output, or to 1 if that is smaller.
BATCHES, BATCHES_OF_LARGE = (1, 3, 8), (1, 2)
SOFTMAXES = {"probabilities", "scores"}
RANKED = {"logits", *SOFTMAXES}  # Clients use the argmax of these outputs, so it must be equal, too.
RUN_SECONDS = 120

MIX_ROWS = {"branches"}  # In these models each row depends on all rows of the batch.
# The engine detects that rows are independent in these models.
INDEPENDENT_ROWS = ["mlp", "mobilenet_v2", "efficientnet_b0", "resnet50", "inception_v3", "densenet121", "bert_base"]
# ./dev test --full sets this. Otherwise a large model, whose load takes seconds, is run for fewer of the equivalent cases.
IS_FULL = bool(os.environ.get("LONGSHORE_FULL"))
NOT_OF_ZEROS = {"jpeg", "parse_example"}  # An empty string is not a valid input of these models.


def _model(*words) -> subprocess.CompletedProcess:
    return subprocess.run([MODEL, *map(str, words)], capture_output=True, text=True, timeout=RUN_SECONDS)


def _as_json(value):
    if isinstance(value, (bytes, str)):
        text = value if isinstance(value, bytes) else value.encode()
        return {"b64": base64.b64encode(text).decode()}
    return [_as_json(part) for part in value] if isinstance(value, list) else value


def _flags_of(inputs: dict[str, np.ndarray], folder: pathlib.Path) -> list[str]:
    """Returns the flags for the inputs. Strings are passed as JSON, because numpy files lose zero bytes at their ends."""
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


def _comparable(name: str, value: np.ndarray) -> np.ndarray:
    """Probabilities as logarithms, which are the logits up to a constant per row: an error of 1e-4 would be a tenth of one of
    a thousand probabilities."""
    return np.log(np.maximum(value, np.finfo(value.dtype).tiny)) if name in SOFTMAXES else value


def _assert_same(name: str, got: np.ndarray, want: np.ndarray) -> None:
    assert got.shape == want.shape, name
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, name)
        return
    assert got.dtype == want.dtype, name
    got, want = _comparable(name, got), _comparable(name, want)
    worst, limit = np.abs(got - want).max(), TOLERANCE * max(1.0, np.abs(want).max())
    assert worst <= limit, f"{name}: off by {worst}, the limit is {limit}"
    if name in RANKED:
        np.testing.assert_array_equal(got.argmax(-1), want.argmax(-1), name)


def _assert_rows_differ(outputs: dict[str, np.ndarray]) -> None:
    """Otherwise a model with the same answer for all rows would pass."""
    assert any(not np.allclose(value[0], value[1], atol=10 * TOLERANCE) for value in outputs.values()
               if value.dtype.kind == "f")


@pytest.mark.parametrize("name", zoo.MODELS)
def test_a_model_of_the_zoo_gives_tensorflows_answers(name, tmp_path):
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
            _assert_rows_differ(want)


def _assert_same_bits(got: dict[str, np.ndarray], want: dict[str, np.ndarray], what: str) -> None:
    assert got.keys() == want.keys()
    for output in want:
        assert got[output].tobytes() == want[output].tobytes(), f"{output}: {what}"


@pytest.mark.parametrize("name", zoo.MODELS)
def test_a_row_has_the_same_bits_for_any_neighbours_place_threads_and_run(name, tmp_path):
    is_reduced = zoo.MODELS[name].is_large and not IS_FULL
    batch = 4 if zoo.MODELS[name].is_large else 8
    kept = batch // 2
    version_dir, all_rows = zoo.path(name), zoo.inputs(name, batch + kept)
    places = np.random.default_rng(11).permutation(batch)  # The new places of the kept rows and of the other rows.
    moved = np.empty(batch, int)
    moved[places] = [*range(kept), *range(batch, batch + kept)]

    def answers(folder, rows, threads=1, neighbour=None):
        inputs = {key: value[rows].copy() for key, value in all_rows.items()}
        for value in inputs.values():
            if neighbour is not None and value.dtype.kind == "f":
                value[places[-1]] = neighbour
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
    if not is_reduced:
        _assert_same_bits(of_kept(answers("moved2", moved, threads=2)), want, "other places and neighbours, two threads")
    for neighbour in (np.nan,) if is_reduced else (np.nan, np.inf, 3e38):
        got = answers(f"next to {neighbour}", moved, neighbour=neighbour)
        _assert_same_bits(of_kept(got), want, f"next to a row of {neighbour}")


@pytest.mark.parametrize("name", INDEPENDENT_ROWS)
def test_with_deterministic_a_row_has_the_same_bits_in_batches_of_any_size(name, tmp_path):
    inputs = zoo.inputs(name, 3)

    def answers(folder, rows, threads):
        (tmp_path / folder).mkdir()
        some = {key: value[rows].copy() for key, value in inputs.items()}
        return _answers(zoo.path(name), some, tmp_path / folder, threads, ("--deterministic",))

    explained = _model("explain", zoo.path(name), "--deterministic", *_flags_of(inputs, tmp_path), "--json")
    assert json.loads(explained.stdout)["rows_at_once"] == 1
    together = answers("together", np.arange(3), threads=2)
    for rows in ([0],) if zoo.MODELS[name].is_large and not IS_FULL else ([0], [1, 2]):
        _assert_same_bits(answers(str(rows), np.array(rows), 1), {key: value[rows] for key, value in together.items()}, rows)


@pytest.mark.parametrize("name", zoo.MODELS)
def test_check_reports_every_model_of_the_zoo_as_supported(name):
    checked = _model("check", zoo.path(name))
    assert checked.returncode == 0, checked.stdout
    assert ("a run with zeros as inputs fails" if name in NOT_OF_ZEROS else "FLOP") in checked.stdout


def test_inputs_of_a_row_are_the_same_in_every_batch():
    """The tests above and the benchmarks rely on this."""
    for name in zoo.MODELS:
        one, three = zoo.inputs(name, 1), zoo.inputs(name, 3)
        for key in one:
            np.testing.assert_array_equal(one[key], three[key][:1], f"{name}: {key}")
