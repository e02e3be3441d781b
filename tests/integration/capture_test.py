"""A failed request is captured and can be replayed, end to end with the real node."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "judge"))

from serving import BINARY, ROOT, running_node  # noqa: E402

DIGITS = ROOT / "tests/models/digits"
NAN_IMAGE = int((DIGITS / "traffic_nan.txt").read_text().split()[0])


def images(*numbers: int) -> dict[str, np.ndarray]:
    return {"image": np.fromfile(DIGITS / "traffic.f32", "<f4").reshape(-1, 8, 8, 1)[list(numbers)]}


def only_version(tmp_path: pathlib.Path, version: int) -> pathlib.Path:
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / str(version)).symlink_to(DIGITS / str(version))
    return tmp_path / "digits"


def replay(*arguments) -> tuple[int, str]:
    done = subprocess.run([BINARY, "replay", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def bundles(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(folder.glob("*.bundle"))


def test_a_request_with_a_nan_answer_is_captured_and_replayed(tmp_path):
    captures = tmp_path / "captures"
    with running_node(tmp_path, "digits", only_version(tmp_path, 4), f"--capture_dir={captures}") as node:
        node.serving()
        node.predict(images(0))
        assert np.isnan(node.predict(images(NAN_IMAGE))["probabilities"]).any()
        node.logs("the request is captured in")
        assert 'output "probabilities", made by node "' in node.log.read_text()
    (bundle,) = bundles(captures)
    assert bundle.name.endswith("-001-digits-4-NON_FINITE.bundle")
    status, output = replay(bundle)
    assert status == 1, output
    assert "(op RealDiv)" in output and "the request failed again" in output
    status, output = replay(bundle, f"--model_path={DIGITS / '2'}")
    assert status == 0, output
    assert "are not those that ran the captured request" in output and "the request did not fail again" in output


def test_a_request_past_its_deadline_is_not_captured(tmp_path):
    grpc = pytest.importorskip("grpc")
    captures = tmp_path / "captures"
    flags = (f"--capture_dir={captures}", "--simulated_run_ms=300", "--max_concurrent_runs=1")
    with running_node(tmp_path, "digits", only_version(tmp_path, 4), *flags) as node:
        node.serving()
        first = node.predictions.Predict.future(node.request(images(NAN_IMAGE)), timeout=30)
        second = node.predictions.Predict.future(node.request(images(1)), timeout=0.1)
        assert second.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        first.result()
        node.logs("the request is captured in")
    assert [bundle.name.split("-")[-1] for bundle in bundles(captures)] == ["NON_FINITE.bundle"]


def test_an_invalid_request_is_not_captured(tmp_path):
    captures = tmp_path / "captures"
    with running_node(tmp_path, "digits", only_version(tmp_path, 2), f"--capture_dir={captures}") as node:
        node.serving()
        assert node.rest_predict({"instances": [[1.0]]})[0] == 400
        node.predict(images(0))
    assert bundles(captures) == []


def test_help_explains_flags_and_exit_status():
    status, output = replay("--help")
    assert status == 0
    assert "--model_path" in output and "Exit status: 0 the request did not fail again, 1 it did" in output
