"""./dev bench engine: what it says of its figures. What they should be is for a quiet machine to say.

Its peers need not be there: one that is not is a row, too.
"""

import json
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/bench"), str(ROOT / "tests/models")]

import engine_bench  # noqa: E402
import engine_peers  # noqa: E402
from engine_peers import ONNX, TENSORFLOW  # noqa: E402
from engine_report import Cell, Found, Lack, Start, differences, markdown, rows_of, spread  # noqa: E402
from rows import median_of_ratios  # noqa: E402

ROW = {"what", "peer", "ours", "theirs", "ratio", "goal", "met"}


def found() -> Found:
    """One cell in which ours takes 3, 2 and 9 ms and the best peer 2 ms, and one peer that is not there."""
    seconds = {"longshore": [0.003, 0.002, 0.009], "tensorflow": [0.004, 0.004, 0.004], "onnxruntime": [0.002, 0.002, 0.002]}
    return Found(cells=[Cell("mlp", 8, 1, seconds)], lacks=[Lack("mlp", "openvino", "No module named 'openvino'", "runs")],
                 starts={"mlp": {"longshore": Start(0.01, 0.02, 40_000_000), "tensorflow": Start(4.0, 0.5, 500_000_000)}},
                 allocations={"mlp": 3}, calls={"longshore": 1e-6, "tensorflow": 7e-6})


class Answers(unittest.TestCase):
    def test_those_that_are_the_same_but_for_the_last_digits_are_no_difference(self):
        self.assertEqual(differences({"y": np.float32([1, 2])}, {"y": np.float32([1, 2.00001])}, TENSORFLOW), [])
        self.assertEqual(differences({"y": np.zeros((0, 3))}, {"y": np.zeros((0, 3))}, TENSORFLOW), [])

    def test_tensorflow_is_the_judge_and_others_may_add_in_another_order(self):
        ours, theirs = {"y": np.float32([1, 2])}, {"y": np.float32([1, 2.0005])}
        self.assertEqual(len(differences(ours, theirs, TENSORFLOW)), 1)
        self.assertEqual(differences(ours, theirs, ONNX), [])
        self.assertEqual(len(differences(ours, {"y": np.float32([1, 2.008])}, ONNX)), 1)

    def test_nobody_has_to_be_nearer_to_tensorflow_than_it_is_to_itself(self):
        loaded, tuned = {"y": np.float32([1, 2])}, {"y": np.float32([1, 2.001])}
        apart = spread(loaded, tuned)
        self.assertAlmostEqual(apart, 0.001 / 2.001, places=6)
        self.assertEqual(differences({"y": np.float32([1, 2.0019])}, tuned, TENSORFLOW, apart), [])
        self.assertEqual(len(differences({"y": np.float32([1, 2.0025])}, tuned, TENSORFLOW, apart)), 1)
        self.assertEqual(len(differences({"y": np.float32([1, 2.01])}, tuned, TENSORFLOW, 0.05)), 1, "bfloat16 is no excuse")

    def test_whatever_else_is_one(self):
        y = np.float32([1, 2])
        for ours, theirs, word in [(np.float32([1, np.nan]), y, "NaN"), (y, np.float32([1, np.nan]), "NaN"),
                                   (np.float32([1, np.nan]), np.float32([1, np.nan]), "NaN"),
                                   (np.float32([1, np.inf]), np.float32([1, np.inf]), "infinite"),
                                   (y, np.float32([1, 2.1]), "off by 0.1"), (y, np.float32([[1, 2]]), "[1, 2]")]:
            with self.subTest(ours=ours, theirs=theirs):
                [told] = differences({"y": ours}, {"y": theirs}, ONNX)
                self.assertIn(word, told)

    def test_an_output_that_one_of_them_has_is_one(self):
        y = np.float32([1])
        self.assertEqual(len(differences({"y": y, "z": y}, {"y": y}, TENSORFLOW)), 1)
        self.assertEqual(len(differences({"y": y}, {"y": y, "z": y}, TENSORFLOW)), 1)
        self.assertEqual(len(differences({}, {"y": y}, TENSORFLOW)), 1)


class FakeEngine:
    def __init__(self, name, answer):
        self.name, self.answer = name, answer

    def answers(self, name, folder):
        if self.answer is None:
            raise engine_peers.EngineError("it ended")
        return {"y": np.float32(self.answer)}


class Same(unittest.TestCase):
    def same(self, **answers):
        """Who is measured, and what is told of the others."""
        bench = engine_bench.Bench(mock.Mock(quick=True))
        engines = [FakeEngine(name, answer) for name, answer in answers.items()]
        measured = bench.same("mlp b1 t1", engines, "b1", pathlib.Path("nowhere"))
        return [engine.name for engine in measured], [(lack.engine, lack.goal) for lack in bench.found.lacks]

    def test_who_answers_something_else_or_nothing_is_told_and_not_measured(self):
        self.assertEqual(self.same(longshore=[1], tensorflow=[1], onnxruntime=[np.nan], openvino=None),
                         (["longshore", "tensorflow"], [("openvino", "runs"), ("onnxruntime", "the same answers")]))

    def test_without_an_answer_of_ours_there_is_nothing_to_measure(self):
        self.assertEqual(self.same(longshore=None, tensorflow=[1]), ([], [("longshore", "runs")]))

    def test_our_nan_is_not_the_same_as_anything(self):
        measured, told = self.same(longshore=[np.nan], tensorflow=[np.nan])
        self.assertEqual(measured, [])
        self.assertIn(("tensorflow", "the same answers"), told)


class Report(unittest.TestCase):
    def test_goals_are_judged_by_medians(self):
        rows = {row["what"]: row for row in rows_of(found())}
        cell = rows["mlp b8 t1: ms of a run, median"]
        self.assertEqual((cell["peer"], cell["ratio"], cell["met"]), ("onnxruntime", 1.5, True))
        self.assertEqual(rows["share of cells whose median is within 1.2 x the best peer's"]["ratio"], 0)
        self.assertAlmostEqual(rows["geometric mean of the cells' medians against TensorFlow's"]["ratio"], 0.75)

    def test_a_start_is_opening_load_and_first_answer_on_both_sides(self):
        start = next(row for row in rows_of(found()) if "library opening" in row["what"])
        self.assertAlmostEqual(start["ours"], 0.03)
        self.assertAlmostEqual(start["theirs"], 4.5)

    def test_a_peer_that_is_not_there_is_a_row_that_is_missed(self):
        [lack] = [row for row in rows_of(found()) if row["peer"] == "openvino"]
        self.assertIn("incomplete: No module named", lack["what"])
        self.assertIs(lack["met"], False)
        self.assertEqual(lack.keys(), ROW)

    def test_the_tables_have_the_figures(self):
        page = markdown(found())
        for text in ["| mlp | 8 | 1 | 3 | 4 | 2 |  | 1.50 of onnxruntime [1.00, 4.50] | 0.75 |",
                     "longshore 1.0 us, tensorflow 7.0 us",
                     "| mlp | tensorflow | 4.5 | 0.5 | 500 |", "| mlp | 3 |", "| mlp | openvino | No module named 'openvino' |"]:
            self.assertIn(text, page)

    def test_the_interval_of_a_median_is_that_of_the_sign_test(self):
        self.assertEqual(median_of_ratios([1, 2, 3], [1, 1, 1]), (2, 1, 3))
        # Of nine values, the second smallest and the second largest: 1 - 2 * (1 + 9) / 2**9 = 96.1 %.
        self.assertEqual(median_of_ratios([5, 1, 9, 2, 8, 3, 7, 4, 6], [1] * 9), (5, 2, 8))

    def test_a_cell_has_the_interval_of_its_ratio(self):
        cell = next(row for row in rows_of(found()) if row["what"].startswith("mlp b8"))
        self.assertEqual(cell["interval"], [1, 4.5])


class Peers(unittest.TestCase):
    def test_another_tf2onnx_makes_another_file(self):
        folder = mock.MagicMock()
        for version in ("1.17.0", "1.18.0"):
            with mock.patch.object(engine_peers, "version", return_value=version):
                engine_peers.onnx_of("model/1", folder)
        [[first], [second]] = [call.args for call in folder.__truediv__.call_args_list]
        self.assertNotEqual(first, second)

    def test_a_program_that_ends_is_an_engine_that_fails(self):
        with self.assertRaisesRegex(engine_peers.EngineError, "it ended"):
            engine_peers.Engine("x", ["/bin/true"])
        with self.assertRaisesRegex(engine_peers.EngineError, "^no such model$"):
            engine_peers.Engine("x", ["/bin/echo", "error: no such model"])


class Run(unittest.TestCase):
    def test_a_small_model_beside_what_is_there(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "tests/bench/engine_bench.py", "--quick", "--json", "--models", "mlp",
                               "--batches", "1", "--threads", "1"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout.splitlines()[-1])["rows"]
        self.assertTrue(all(row.keys() - {"interval"} == ROW for row in rows))
        self.assertTrue(any(row["what"] == "mlp b1 t1: ms of a run, median" for row in rows), done.stderr)
        self.assertIn("tensorflow: frozen", done.stderr)
        self.assertIn("computes next to nothing", done.stderr)
        for peer in ("onnxruntime", "openvino"):
            self.assertTrue(f"{peer} (not installed)" not in done.stderr or any(row["peer"] == peer for row in rows))


if __name__ == "__main__":
    unittest.main()
