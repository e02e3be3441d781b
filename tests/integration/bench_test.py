"""./dev bench serving: its rows are measured and compared with their goals. Only a quiet machine can meet the goals."""

import argparse
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench"))


REPEATS = 20
STALL_MS = 2000  # No swap and no restart may delay an answer as long as this. The deadline of a request is 10 s.


def run(*names: str) -> list[dict]:
    flags = [f"--repeats={REPEATS}", *(f"--only={name}" for name in names)]
    done = subprocess.run([sys.executable, ROOT / "tests/bench/serving.py", "--quick", "--json", *flags], capture_output=True,
                          text=True, timeout=300)
    print(done.stderr)  # It says how requests have failed.
    assert done.returncode == 0
    return json.loads(done.stdout)["rows"]


class Bench(unittest.TestCase):
    def test_a_row_has_a_figure_and_whether_it_meets_the_goal(self):
        rows = run("start", "reloads")
        self.assertEqual(len(rows), 2)
        self.assertIn(f"memory after {REPEATS} reloads", rows[1]["what"])
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

    def test_a_row_without_a_goal_shows_its_ratio_and_fails_no_gate(self):
        from rows import finish, shown
        made = shown("x", "peer", [1, 1, 1], [2, 4, 5])
        self.assertEqual((made["ratio"], made["interval"], made["goal"], made["met"]), (0.25, [0.2, 0.5], "", None))
        self.assertEqual(finish([made], argparse.Namespace(json=False, gate=True)), 0)

    def test_an_answer_that_is_too_short_and_an_error_count_as_failed(self):
        from processes import BIN, client, echo
        with echo("grpc-bytes", answer_floats=10) as bare:
            command = (BIN / "longshore-bench", "throughput", "--seconds=1")
            sent = (*command, f"--grpc=127.0.0.1:{bare.port}", "--bytes")
            self.assertEqual(client(*sent, "--answer_bytes_min=40")["failed"], 0)
            short = client(*sent, "--answer_bytes_min=100", statuses=(1,))
            self.assertEqual(short["answered"], 0)
            self.assertIn("bytes, not at least 100", short["first_failure"])
            other = client(*command, f"--infer=127.0.0.1:{bare.port}", statuses=(1,))
            self.assertEqual(other["answered"], 0)

    def test_a_gate_fails_when_a_row_misses_its_goal(self):
        from rows import finish, row
        good, bad = row("x", "", 299, 0, "<= 300"), row("x", "", 301, 0, "<= 300")
        for rows, gate, status in (([good], True, 0), ([good, bad], True, 1), ([good, bad], False, 0)):
            self.assertEqual(finish(rows, argparse.Namespace(json=False, gate=gate)), status)

    def test_swaps_and_restarts_fail_no_request_and_show_the_longest_wait(self):
        rows = run("swaps", "restarts")
        self.assertEqual([made["ours"] for made in rows if "failed" in made["what"]], [0, 0])
        longest = [made["ours"] for made in rows if "longest answer" in made["what"]]
        tail = [made["ours"] for made in rows if "p99.9" in made["what"]]
        self.assertEqual((len(longest), len(tail)), (2, 2))
        for most, p999 in zip(longest, tail, strict=True):
            self.assertGreater(most, 0)
            self.assertLess(p999, 1.1 * most)  # A bucket ends up to 9 % above its latencies.
            self.assertLess(most, STALL_MS)

    def test_only_rows_of_rounds_have_an_interval_and_the_others_say_that_they_are_one_run(self):
        from rows import row, row_of_figures, row_of_rounds
        one = row("x", "", 1, 0, "<= 2")
        self.assertEqual((one["basis"], one["interval"]), ("one run", None))
        rounds = row_of_rounds("x", "peer", [1, 2, 3, 4, 5, 6, 7, 8, 9], [1] * 9, "<= 5")
        self.assertEqual((rounds["basis"], rounds["ratio"], rounds["interval"]), ("9 rounds", 5, [2, 8]))
        figures = row_of_figures("x", [3, 1, 2], "<= 2")
        self.assertEqual((figures["basis"], figures["ours"], figures["interval"], figures["met"]), ("3 rounds", 2, [1, 3], True))

    def test_the_tail_of_several_windows_is_that_of_all_their_answers(self):
        from tail import pooled_p999_ms
        quiet = {"latency_us": [[1000, 9990]]}
        stalled = {"latency_us": [[1000, 5], [64000, 5]]}
        self.assertEqual(pooled_p999_ms([quiet]), 1)
        self.assertEqual(pooled_p999_ms([quiet, stalled]), 1)  # Five of 10,000.
        self.assertEqual(pooled_p999_ms([quiet, stalled, stalled, stalled]), 64)

    def test_the_p99_of_several_windows_is_interpolated_in_its_bucket_of_an_eighth_of_a_doubling(self):
        from tail import pooled_p99_ms
        self.assertAlmostEqual(pooled_p99_ms([{"latency_us": [[1000, 98]]}, {"latency_us": [[8000, 2]]}]), 8 * (1 + 2 ** -0.125) / 2)
        with self.assertRaisesRegex(SystemExit, "no request was answered"):
            pooled_p99_ms([{"latency_us": []}])

    def test_the_interval_of_a_ratio_of_p99s_comes_from_the_rounds(self):
        from tail import ratio_of_pooled_p99
        slow, fast = {"latency_us": [[2000, 1000]]}, {"latency_us": [[1000, 1000]]}
        self.assertEqual(ratio_of_pooled_p99([slow] * 5, [fast] * 5), (2, 2, 2))
        ratio, low, high = ratio_of_pooled_p99([slow] + [fast] * 4, [fast] * 5)
        self.assertAlmostEqual(ratio, 2, delta=0.1)
        self.assertEqual(low, 1)  # A third of the draws contain no slow window.
        self.assertLessEqual(high, 2)


if __name__ == "__main__":
    unittest.main()
