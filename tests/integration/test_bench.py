"""./dev bench serving: its rows are measured and compared with their goals. Only a quiet machine can meet the goals."""

import argparse
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench"))


def run(*names: str) -> list[dict]:
    flags = [f"--only={name}" for name in names]
    done = subprocess.run([sys.executable, ROOT / "tests/bench/serving.py", "--quick", "--json", *flags], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


class Bench(unittest.TestCase):
    def test_a_row_has_a_figure_and_whether_it_meets_the_goal(self):
        rows = run("start", "reloads")
        self.assertEqual(len(rows), 2)
        for made in rows:
            self.assertGreater(made["ours"], 0)
            sign, limit = made["goal"].split()
            self.assertEqual(sign, "<=")
            self.assertEqual(made["met"], made["ratio"] <= float(limit))

    def test_a_goal_applies_to_the_ratio_or_to_the_figure_if_there_is_no_peer(self):
        from rows import row
        met = [row("x", "", figure, 0, "<= 300")["met"] for figure in (299, 301)]
        met += [row("x", "peer", figure, 100, ">= 0.85")["met"] for figure in (85, 84)]
        met += [row("x", "peer", 1, 1, "<= 1.3", ratio=ratio)["met"] for ratio in (1.3, 1.31)]
        self.assertEqual(met, [True, False] * 3)

    def test_a_gate_fails_when_a_row_misses_its_goal(self):
        from rows import finish, row
        good, bad = row("x", "", 299, 0, "<= 300"), row("x", "", 301, 0, "<= 300")
        for rows, gate, status in (([good], True, 0), ([good, bad], True, 1), ([good, bad], False, 0)):
            self.assertEqual(finish(rows, argparse.Namespace(json=False, gate=gate)), status)

    def test_swaps_and_restarts_fail_no_request(self):
        self.assertEqual([made["ours"] for made in run("swaps", "restarts")], [0, 0])


if __name__ == "__main__":
    unittest.main()
