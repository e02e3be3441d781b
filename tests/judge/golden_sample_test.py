"""TensorFlow still gives the answers of the golden files, and the training still gives the committed models.

Each run checks a sample, because all of it takes minutes. LONGSHORE_SEED repeats the sample of a run that printed its seed.
"""

import os
import random
import secrets
import subprocess
import sys

import numpy as np
import pytest

import judge_models_test
import judging
from serving import ROOT

MODELS = ROOT / "tests" / "models"
SMALL = ["half_plus_two_tf1/1", "half_plus_two_tf2/1", "half_plus_three_tf2/1", "types/1", "strings/1", "examples_tf1/1", "examples_tf2/1"]
CASES = 200
# The sums of a training depend on the processor in their last bits, and many steps amplify the differences.
LABELS_SHARE_MIN, PROBABILITIES_MEAN_MAX = 0.99, 0.01


@pytest.fixture
def seed() -> int:
    """A new seed. pytest shows the output of a test that fails."""
    made = int(os.environ.get("LONGSHORE_SEED") or secrets.randbelow(2**31))
    print(f"LONGSHORE_SEED={made}")
    return made


def _run(*words) -> None:
    ran = subprocess.run([sys.executable, "-B", *map(str, words)], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert ran.returncode == 0, ran.stderr[-4000:]


def test_a_sample_of_the_ops_has_the_answers_of_the_golden_files(seed):
    _run(MODELS / "op_answers.py", "--sample", CASES, "--seed", seed)


def _assert_trained_alike(got: judging.Tensors, want: judging.Tensors) -> None:
    assert (got["label"] == want["label"]).mean() >= LABELS_SHARE_MIN
    np.testing.assert_array_equal(np.isnan(got["probabilities"]), np.isnan(want["probabilities"]))
    assert np.nanmean(np.abs(got["probabilities"] - want["probabilities"])) <= PROBABILITIES_MEAN_MAX


def test_exports_of_today_give_the_answers_of_the_committed_models(seed, tmp_path):
    """All models that need no training, and one trained version."""
    drawn = f"digits/{random.Random(seed).randint(1, 5)}"
    _run(MODELS / "train.py", tmp_path, drawn, *SMALL)
    for name in (drawn, *SMALL):
        made, committed = judging.Judge(tmp_path / name), judging.Judge(MODELS / name)
        inputs = judge_models_test.inputs_of(name.split("/")[0])
        if name == drawn:
            _assert_trained_alike(made.predict(inputs), committed.predict(inputs))
            continue
        for row in range(len(next(iter(inputs.values())))):  # The tolerance is relative to the largest value of a batch.
            one = {key: value[row:row + 1] for key, value in inputs.items()}
            judging.assert_same(made.predict(one), committed.predict(one))
