"""`.ci/run` prints the time of each stage beside its budgets, also if a stage fails. ./dev is replaced by a script."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / ".ci"))

import stages

PAGE = "# Budgets\n\n| stage | budget, cold | budget, warm | measured |\n|---|---|---|---|\n| `a` | 1 min | 2 min | 3 min |\n| b | 4 min | 5 min | |\n\nEnd."


def test_each_stage_has_its_time_and_its_budgets():
    lines = [re.split(r"  +", line) for line in stages.report(["100 a", "190 b", "250 other", "280 end"], PAGE)]
    assert lines[1:] == [["a", "1.5 min", "1 min", "2 min"], ["b", "1.0 min", "4 min", "5 min"], ["other", "0.5 min", "none", "none"],
                         ["all stages", "3.0 min"]]


def test_every_stage_of_the_run_has_a_row_in_contributing_and_the_other_way_round():
    begun = [name for file in (".ci/run", "dev") for name in re.findall(r'^ *stage "(.+)"$', (ROOT / file).read_text(), re.MULTILINE)]
    assert len(begun) > 8
    assert set(begun) == set(stages.budgets((ROOT / "CONTRIBUTING.md").read_text()))


@pytest.mark.parametrize(("failing", "code"), [("none", 0), ("demo", 3)])
def test_the_times_are_printed_at_the_end_also_if_a_stage_fails(tmp_path: pathlib.Path, failing: str, code: int):
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    shutil.copy(ROOT / "CONTRIBUTING.md", tmp_path)
    (tmp_path / "dev").write_text(f'#!/usr/bin/env bash\necho "$1"\n[ "$1" != test ] || echo "$EPOCHSECONDS unit tests, release" >>"$LONGSHORE_STAGES"\n'
                                  f'[ "$1" != {failing} ] || exit 3\n')
    (tmp_path / "dev").chmod(0o755)
    done = subprocess.run([tmp_path / ".ci/run"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    ran = ["check", "test", "demo"] + ["e2e"] * (code == 0)
    lines = done.stdout.splitlines()
    assert lines[:len(ran)] == ran
    assert [re.split(r"  +", line)[0] for line in lines[len(ran):]] == [
        "stage", "./dev check --all", "unit tests, release", *(f"./dev {verb}" for verb in ran[2:]), "all stages"]
