"""A test in Python that nothing runs, or that has another name than the others, is found."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import python_tests

DEV = 'readonly PROGRAM_TESTS=(\n  "tests/a tests/b"\n  "tests/c")\npython3 tests/d/one_test.py\n'
TESTS = ["tests/a/a_test.py", "tests/b/b_test.py", "tests/c/c_test.py", "tests/d/one_test.py"]
LIMITS = {"python_tests_elsewhere": {"tests/d/one_test.py": "dev"}}


class PythonTests(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "dev").write_text(DEV)

    def found(self, everything, limits=LIMITS):
        return [(finding.path, finding.problem) for finding in python_tests.check(self.root, everything, limits)]

    def test_tests_that_something_runs_are_not_found(self):
        self.assertEqual(self.found([*TESTS, "tests/a/cases.py"]), [])

    def test_a_test_that_nothing_runs_is_found(self):
        self.assertEqual(self.found([*TESTS, "tests/d/two_test.py", "tests/ab/x_test.py"]), [
            ("tests/d/two_test.py", "nothing runs this test"), ("tests/ab/x_test.py", "nothing runs this test")])

    def test_another_name_is_found(self):
        self.assertEqual([path for path, _ in self.found([*TESTS, "tests/a/test_that.py"])], ["tests/a/test_that.py"])

    def test_a_place_without_tests_is_found(self):
        self.assertEqual(self.found(TESTS[1:]), [("dev", "tests/a has no tests, but a run of tests names it")])

    def test_an_exception_that_nothing_runs_is_found(self):
        (self.root / "dev").write_text(DEV.replace("one_test.py", "other.py"))
        self.assertEqual(self.found(TESTS), [("tests/tidy/limits.yaml", "dev does not run tests/d/one_test.py")])


if __name__ == "__main__":
    unittest.main()
