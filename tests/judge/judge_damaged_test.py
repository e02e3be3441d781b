"""Damaged and half-copied models are rejected with a message that names the file, and the node continues to run."""

import pathlib
import shutil
import time

import grpc
import numpy as np
import pytest

import judging
from serving import ROOT, START_SECONDS, State, running_node

VERSION = ROOT / "tests" / "models" / "digits" / "2"
DATA = "variables/variables.data-00000-of-00001"
INDEX = "variables/variables.index"


def _cut(path: pathlib.Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:int(len(content) * share)])


def _flip(path: pathlib.Path, share: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * share)] ^= 0x10
    path.write_bytes(content)


def _cut_warmup(version_dir: pathlib.Path) -> None:
    _cut(version_dir / "assets.extra/tf_serving_warmup_requests", 0.6)


# Damage -> (a function that makes it, a text that the message must contain).
DAMAGES = {
    "the folder of variables is missing": (lambda v: shutil.rmtree(v / "variables"), "variables"),
    "the variables are empty": (lambda v: _cut(v / DATA, 0), "variables.data"),
    "half of the variables is there": (lambda v: _cut(v / DATA, 0.5), "variables.data"),
    "the last byte of the variables is missing": (lambda v: _cut(v / DATA, 0.999999), "variables.data"),
    "a bit of a variable is flipped": (lambda v: _flip(v / DATA, 0.3), "variables.data"),
    "half of the index is there": (lambda v: _cut(v / INDEX, 0.5), "variables.index"),
    "a bit of the index is flipped": (lambda v: _flip(v / INDEX, 0.3), "variables.index"),
    "half of the graph is there": (lambda v: _cut(v / "saved_model.pb", 0.5), "saved_model.pb"),
    "the last byte of the graph is missing": (lambda v: _cut(v / "saved_model.pb", 0.999999), "saved_model.pb"),
    "the graph is empty": (lambda v: _cut(v / "saved_model.pb", 0), "saved_model.pb"),
    "the graph is text": (lambda v: (v / "saved_model.pb").write_text("<html>404</html>"), "saved_model.pb"),
    "the warm-up requests are cut": (_cut_warmup, "TFRecord"),
}


# An incomplete copy may still be in progress: the node logs what is missing, but this is not an error.
HALF_COPIES = {
    "the graph is not copied yet": (lambda v: (v / "saved_model.pb").unlink(), "saved_model.pb"),
    "the index of the variables is not copied yet": (lambda v: (v / INDEX).unlink(), "variables.index"),
    "the variables are not copied yet": (lambda v: (v / DATA).unlink(), "variables"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_version_is_rejected_and_the_message_names_the_file(damage, tmp_path):
    version_dir = tmp_path / "base" / "1"
    shutil.copytree(VERSION, version_dir)
    make_damage, text = DAMAGES[damage]
    make_damage(version_dir)
    with running_node(tmp_path, "digits", tmp_path / "base") as node:
        assert text in node.refusal()
        with pytest.raises(grpc.RpcError):
            node.predict({"image": np.zeros((1, 8, 8, 1), np.float32)})


@pytest.mark.parametrize("missing", HALF_COPIES)
def test_a_half_copied_version_is_not_served_until_it_is_complete(missing, tmp_path):
    version_dir = tmp_path / "base" / "1"
    shutil.copytree(VERSION, version_dir)
    remove, text = HALF_COPIES[missing]
    remove(version_dir)
    images = {"image": np.zeros((1, 8, 8, 1), np.float32)}
    with running_node(tmp_path, "digits", tmp_path / "base") as node:
        node.logs(text)
        with pytest.raises(grpc.RpcError):
            node.predict(images)
        shutil.copytree(VERSION, version_dir, dirs_exist_ok=True)
        judging.assert_same(node.serving().predict(images), judging.Judge(VERSION).predict(images))


def test_a_good_version_keeps_serving_when_a_damaged_one_arrives(tmp_path):
    base = tmp_path / "base"
    shutil.copytree(VERSION, base / "1")
    images = {"image": np.fromfile(VERSION.parent / "traffic.f32", "<f4").reshape(-1, 8, 8, 1)[:8]}
    want = judging.Judge(VERSION).predict(images)
    with running_node(tmp_path, "digits", base) as node:
        node.serving()
        shutil.copytree(VERSION, tmp_path / "2")
        _cut(tmp_path / "2" / DATA, 0.5)
        (tmp_path / "2").rename(base / "2")
        deadline = time.monotonic() + START_SECONDS
        while not any(status.version == 2 and status.status.error_code for status in node.statuses()):
            judging.assert_same(node.predict(images), want)
            assert time.monotonic() < deadline
        states = {status.version: status.state for status in node.statuses()}
        assert states[1] == State.AVAILABLE and states[2] != State.AVAILABLE
        judging.assert_same(node.predict(images), want)
