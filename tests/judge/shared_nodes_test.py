"""A model on a shared node fails only by its own fault."""

import shutil

import numpy as np
import pytest
from serving import ROOT, State
from shared_nodes import MODELS_PER_NODE, shared_nodes

HALF = ROOT / "tests/models/half_plus_two_tf2/1"
X = {"x": np.array([2.0], np.float32)}


def _half(version_dir):
    shutil.copytree(HALF, version_dir)


def _damaged(version_dir):
    version_dir.mkdir(parents=True)
    (version_dir / "saved_model.pb").write_bytes(b"damaged")


def _broken(_version_dir):
    raise ValueError("no export")


def test_each_model_has_its_own_answer_or_error(tmp_path):
    exports = {"broken": _broken, "damaged": _damaged, **{f"half {number}": _half for number in range(MODELS_PER_NODE)}}
    with shared_nodes(tmp_path, exports) as nodes:
        with pytest.raises(ValueError, match="no export"):
            nodes.node_of("broken")
        status = nodes.node_of("damaged").settled()
        assert status.state != State.AVAILABLE and "saved_model.pb" in status.status.error_message
        first = nodes.node_of("half 0").serving()
        assert first.predict(X)["y"].tolist() == [3.0]
        assert nodes.node_of("half 1").process is first.process, "the models of a group share a node"
        last = nodes.node_of(f"half {MODELS_PER_NODE - 1}").serving()
        assert last.process is not first.process and first.process.poll() == 0, "only one node runs at a time"


def test_after_a_node_has_ended_each_model_of_its_group_has_its_own_node(tmp_path):
    with shared_nodes(tmp_path, {"one": _half, "two": _half, "three": _half}) as nodes:
        shared = nodes.node_of("one").serving()
        shared.process.kill()
        shared.process.wait()
        two = nodes.node_of("two").serving()
        assert two.predict(X)["y"].tolist() == [3.0]
        three = nodes.node_of("three").serving()
        assert three.process is not two.process and two.process.poll() == 0
