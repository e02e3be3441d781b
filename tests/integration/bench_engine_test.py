"""./dev bench engine: how it reports its figures. Only a quiet machine can meet the goals.

The other engines need not be installed: the benchmark reports a missing engine as a row.
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
from engine_report import Cell, Found, Missing, Start, differences, markdown, rows_of, spread  # noqa: E402
from rows import median_of_ratios  # noqa: E402

ROW = {"what", "peer", "ours", "theirs", "ratio", "goal", "met", "basis", "interval"}


def found() -> Found:
    """Returns one cell, in which our engine takes 3, 2 and 9 ms and the best peer 2 ms, and one peer that is not installed."""
    seconds = {"longshore": [0.003, 0.002, 0.009], "tensorflow": [0.004, 0.004, 0.004], "onnxruntime": [0.002, 0.002, 0.002]}
    return Found(cells=[Cell("mlp", 8, 1, seconds)], missing=[Missing("mlp", "openvino", "No module named 'openvino'", "runs")],
                 starts={"mlp": {"longshore": Start(0.01, 0.02, 40_000_000), "tensorflow": Start(4.0, 0.5, 500_000_000)}},
                 allocations={"mlp": 3}, calls={"longshore": 1e-6, "tensorflow": 7e-6})


class Answers(unittest.TestCase):
    def test_answers_that_differ_only_in_the_last_digits_count_as_the_same(self):
        self.assertEqual(differences({"y": np.float32([1, 2])}, {"y": np.float32([1, 2.00001])}, TENSORFLOW), [])
        self.assertEqual(differences({"y": np.zeros((0, 3))}, {"y": np.zeros((0, 3))}, TENSORFLOW), [])

    def test_tensorflow_is_the_reference_and_other_engines_may_add_in_another_order(self):
        ours, theirs = {"y": np.float32([1, 2])}, {"y": np.float32([1, 2.0005])}
        self.assertEqual(len(differences(ours, theirs, TENSORFLOW)), 1)
        self.assertEqual(differences(ours, theirs, ONNX), [])
        self.assertEqual(len(differences(ours, {"y": np.float32([1, 2.008])}, ONNX)), 1)

    def test_answers_may_differ_from_tensorflow_as_much_as_its_own_answers_differ(self):
        loaded, tuned = {"y": np.float32([1, 2])}, {"y": np.float32([1, 2.001])}
        apart = spread(loaded, tuned)
        self.assertAlmostEqual(apart, 0.001 / 2.001, places=6)
        self.assertEqual(differences({"y": np.float32([1, 2.0019])}, tuned, TENSORFLOW, apart), [])
        self.assertEqual(len(differences({"y": np.float32([1, 2.0025])}, tuned, TENSORFLOW, apart)), 1)
        self.assertEqual(len(differences({"y": np.float32([1, 2.01])}, tuned, TENSORFLOW, 0.05)), 1, "bfloat16 is not precise enough")

    def test_softmaxes_are_compared_as_logarithms(self):
        ours, theirs = np.float32([[0.999, 0.001]]), np.float32([[0.99905, 0.00095]])
        for name in ("probabilities", "scores"):
            self.assertEqual(len(differences({name: ours}, {name: theirs}, TENSORFLOW)), 1)
            self.assertGreater(spread({name: ours}, {name: theirs}), 1e-3)
        self.assertEqual(differences({"y": ours}, {"y": theirs}, TENSORFLOW), [])

    def test_nan_infinity_larger_errors_and_other_shapes_are_differences(self):
        y = np.float32([1, 2])
        for ours, theirs, word in [(np.float32([1, np.nan]), y, "NaN"), (y, np.float32([1, np.nan]), "NaN"),
                                   (np.float32([1, np.nan]), np.float32([1, np.nan]), "NaN"),
                                   (np.float32([1, np.inf]), np.float32([1, np.inf]), "infinite"),
                                   (y, np.float32([1, 2.1]), "off by 0.1"), (y, np.float32([[1, 2]]), "[1, 2]")]:
            with self.subTest(ours=ours, theirs=theirs):
                [difference] = differences({"y": ours}, {"y": theirs}, ONNX)
                self.assertIn(word, difference)

    def test_an_output_of_only_one_engine_is_a_difference(self):
        y = np.float32([1])
        self.assertEqual(len(differences({"y": y, "z": y}, {"y": y}, TENSORFLOW)), 1)
        self.assertEqual(len(differences({"y": y}, {"y": y, "z": y}, TENSORFLOW)), 1)
        self.assertEqual(len(differences({}, {"y": y}, TENSORFLOW)), 1)


class FakeEngine:
    def __init__(self, name, answer):
        self.name, self.answer = name, answer

    def answers(self, name, folder):
        if self.answer is None:
            raise engine_peers.EngineError("the engine exited")
        return {"y": np.float32(self.answer)}


class SameAnswers(unittest.TestCase):
    def same(self, **answers):
        """Returns the names of the engines that are measured, and (engine, goal) of the others."""
        bench = engine_bench.Bench(mock.Mock(quick=True))
        engines = [FakeEngine(name, answer) for name, answer in answers.items()]
        measured = bench.same("mlp b1 t1", engines, "b1", pathlib.Path("nowhere"))
        return [engine.name for engine in measured], [(one.engine, one.goal) for one in bench.found.missing]

    def test_an_engine_with_another_answer_or_none_is_reported_and_not_measured(self):
        self.assertEqual(self.same(longshore=[1], tensorflow=[1], onnxruntime=[np.nan], openvino=None),
                         (["longshore", "tensorflow"], [("openvino", "runs"), ("onnxruntime", "the same answers")]))

    def test_nothing_is_measured_if_our_engine_gives_no_answer(self):
        self.assertEqual(self.same(longshore=None, tensorflow=[1]), ([], [("longshore", "runs")]))

    def test_nan_from_our_engine_is_always_a_difference(self):
        measured, reported = self.same(longshore=[np.nan], tensorflow=[np.nan])
        self.assertEqual(measured, [])
        self.assertIn(("tensorflow", "the same answers"), reported)


class Report(unittest.TestCase):
    def test_goals_apply_to_medians(self):
        rows = {row["what"]: row for row in rows_of(found())}
        cell = rows["mlp b8 t1: ms of a run, median"]
        self.assertEqual((cell["peer"], cell["ratio"], cell["met"]), ("onnxruntime", 1.5, True))
        self.assertEqual(rows["share of cells whose median is within 1.2 x the best peer's"]["ratio"], 0)
        self.assertAlmostEqual(rows["geometric mean of the cells' medians against TensorFlow's"]["ratio"], 0.75)

    def test_a_start_includes_opening_load_and_first_answer_for_both_engines(self):
        start = next(row for row in rows_of(found()) if "library opening" in row["what"])
        self.assertAlmostEqual(start["ours"], 0.03)
        self.assertAlmostEqual(start["theirs"], 4.5)

    def test_a_peer_that_is_not_installed_is_a_row_that_misses_its_goal(self):
        [missing] = [row for row in rows_of(found()) if row["peer"] == "openvino"]
        self.assertIn("incomplete: No module named", missing["what"])
        self.assertIs(missing["met"], False)
        self.assertEqual(missing.keys(), ROW)

    def test_the_tables_contain_the_figures(self):
        page = markdown(found())
        for text in ["| mlp | 8 | 1 | 3 | 4 | 2 |  | 1.50 of onnxruntime [1.00, 4.50] | 0.75 |",
                     "longshore 1.0 us, tensorflow 7.0 us",
                     "| mlp | tensorflow | 4.5 | 0.5 | 500 |", "| mlp | 3 |", "| mlp | openvino | No module named 'openvino' |"]:
            self.assertIn(text, page)

    def test_the_interval_of_a_median_is_that_of_the_sign_test(self):
        self.assertEqual(median_of_ratios([1, 2, 3], [1, 1, 1]), (2, 1, 3))
        # With nine values, the interval from the second smallest to the second largest covers 1 - 2 * (1 + 9) / 2**9 = 96.1 %.
        self.assertEqual(median_of_ratios([5, 1, 9, 2, 8, 3, 7, 4, 6], [1] * 9), (5, 2, 8))

    def test_a_cell_has_the_interval_of_its_ratio(self):
        cell = next(row for row in rows_of(found()) if row["what"].startswith("mlp b8"))
        self.assertEqual(cell["interval"], [1, 4.5])


class Peers(unittest.TestCase):
    def test_each_version_of_tf2onnx_has_its_own_file(self):
        folder = mock.MagicMock()
        for version in ("1.17.0", "1.18.0"):
            with mock.patch.object(engine_peers, "version", return_value=version):
                engine_peers.onnx_of("model/1", folder)
        [[first], [second]] = [call.args for call in folder.__truediv__.call_args_list]
        self.assertNotEqual(first, second)

    def test_a_program_that_exits_is_an_engine_error(self):
        with self.assertRaisesRegex(engine_peers.EngineError, "the engine exited"):
            engine_peers.Engine("x", ["/bin/true"])
        with self.assertRaisesRegex(engine_peers.EngineError, "^no such model$"):
            engine_peers.Engine("x", ["/bin/echo", "error: no such model"])


class Run(unittest.TestCase):
    def test_a_small_model_runs_in_all_installed_engines(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "tests/bench/engine_bench.py", "--quick", "--json", "--models", "mlp",
                               "--batches", "1", "--threads", "1"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout.splitlines()[-1])["rows"]
        self.assertTrue(all(row.keys() == ROW for row in rows))
        self.assertTrue(any(row["what"] == "mlp b1 t1: ms of a run, median" for row in rows), done.stderr)
        self.assertIn("tensorflow: frozen", done.stderr)
        self.assertIn("computes almost nothing", done.stderr)
        for peer in ("onnxruntime", "openvino"):
            self.assertTrue(f"{peer} (not installed)" not in done.stderr or any(row["peer"] == peer for row in rows))


if __name__ == "__main__":
    unittest.main()
