"""An entry of limits.yaml that nothing needs is found, and so is a superfluous or missing folder in the lists of folders with threads."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import structure
from sources import Source

LONG = "int F() {\n  int a = 1;\n  a += 2;\n  return a;\n}\n"
LIMITS = {
    "function_lines": 3,
    "function_exceptions": [],
    "script_lines": 20,
    "namespace_groups": [],
    "namespace_exceptions": {},
    "pure_folders": [],
    "pure_libraries": [],
    "pure_exceptions": [],
    "banned_in_pure": "_clock::now",
}


def entries(findings):
    return [finding.problem.partition(" has ")[2].partition(", which ")[0] for finding in findings]


class Limits(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, path, content):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(content, encoding="utf-8")
        return Source(path, content)

    def test_an_exception_is_for_one_function_of_one_file_and_must_be_needed(self):
        sources = [self.write("common/a.cc", LONG), self.write("common/b.cc", LONG), self.write("common/c.cc", "")]
        exceptions = ["common/a.cc:F", "common/c.cc:F", "common/none.cc:F"]
        found = list(structure.check_functions(self.root, sources, {**LIMITS, "function_exceptions": exceptions}))
        self.assertEqual(found[0].path, "common/b.cc")
        self.assertEqual(entries(found[1:]), ["common/c.cc:F", "common/none.cc:F"])
        only_b = structure.check_functions(self.root, sources[1:2], {**LIMITS, "function_exceptions": [*exceptions[:2], "common/b.cc:F"]})
        self.assertEqual(list(only_b), [], "files that are not checked may need their exceptions")

    def test_the_limit_of_scripts_is_the_longest_one(self):
        self.write("a.py", "\n" * 9)
        (finding,) = structure.check_script_limit(self.root, ["a.py"], LIMITS)
        self.assertEqual(finding.fix, "write 10")
        self.assertEqual(list(structure.check_script_limit(self.root, ["a.py"], {**LIMITS, "script_lines": 10})), [])

    def test_namespaces_and_pure_files_that_nothing_needs_are_found(self):
        sources = [
            Source("common/os/x/a.h", "namespace longshore::a {\nint F();\n}  // namespace longshore::a\n"),
            Source("common/net/b.h", "namespace longshore::net {\nint F();\n}  // namespace longshore::net\n"),
            Source("common/pure/clock.h", "namespace longshore::pure {\nauto now = system_clock::now();\n}  // namespace longshore::pure\n"),
            Source("common/pure/c.h", "namespace longshore::pure {\n// system_clock::now\nint F();\n}  // namespace longshore::pure\n"),
        ]
        limits = {
            **LIMITS,
            "namespace_groups": ["common/os", "common/none"],
            "namespace_exceptions": {"common/os/x": ["longshore::a"], "common/net": ["longshore::net", "longshore::b"]},
            "pure_folders": ["common/pure", "common/gone"],
            "pure_exceptions": ["common/pure/clock.h", "common/pure/c.h"],
        }
        self.assertEqual(entries(structure.check_exceptions(sources, limits)), [
            "common/none", "longshore::net for common/net", "longshore::b for common/net", "common/gone", "common/pure/c.h"])

    def test_a_library_that_no_pure_folder_links_is_found(self):
        self.write("common/pure/CMakeLists.txt", "longshore_folder(DEPS fmt)")
        found = structure.check_pure_links(self.root, {**LIMITS, "pure_folders": ["common/pure"], "pure_libraries": ["fmt", "yaml-cpp"]})
        self.assertEqual(entries(found), ["yaml-cpp"])

    def check_threaded(self, folders, short, sources):
        self.write("cmake/Longshore.cmake", f"set(LONGSHORE_THREADED\n  {folders})\nset(LONGSHORE_THREADED_SHORT {short})\n")
        return [finding.problem.replace("LONGSHORE_", "") for finding in structure.check_threaded(self.root, sources)]

    def test_the_lists_of_folders_with_threads_have_no_superfluous_folder(self):
        sources = [Source("common/a/a.cc", "int a;\n"), Source("common/a/a_test.cc", ""), Source("common/b/b.cc", "thread_local int b;\n"),
                   Source("common/b/b_test.cc", ""), Source("common/c/c.cc", ""), Source("common/c/c_test.cc", "std::thread c;\n")]
        self.assertEqual(self.check_threaded("common/a common/b common/c", "common/b common/d", sources), [
            "THREADED has common/a, which uses no threads", "THREADED_SHORT has common/d, which THREADED has not"])

    def test_everything_that_threads_share_counts_and_so_does_the_load_generator(self):
        for use in ("std::call_once(once, F)", "std::counting_semaphore<1> one(1);", "std::latch one(1);", "std::barrier one(1);",
                    "std::recursive_timed_mutex one;", "std::shared_timed_mutex one;", "std::atomic_flag one;", "thread_local int one;"):
            with self.subTest(use):
                sources = [Source("tests/load/a.cc", use + "\n"), Source("tests/load/a_test.cc", ""), Source("tests/sim/b.cc", use + "\n"),
                           Source("tests/sim/b_test.cc", "")]
                (problem,) = self.check_threaded("", "", sources)
                self.assertIn("do not run under the thread sanitizer", problem)


if __name__ == "__main__":
    unittest.main()
