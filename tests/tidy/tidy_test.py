"""Each rule finds its violation, and finds nothing in correct text."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import documents
import formats
import plain_english
import reference
import structure
import tidy
from sources import Source

LIMITS = {
    "function_lines": 3,
    "function_exceptions": [],
    "file_lines": 4,
    "test_file_lines": 6,
    "script_lines": 5,
    "folder_sources": 1,
    "component_cycles": 0,
    "namespace_exceptions": {},
    "namespace_groups": ["common/os"],
    "pure_folders": ["controller/plan"],
    "pure_libraries": ["yaml-cpp"],
    "pure_exceptions": ["controller/plan/clock.h"],
    "banned_in_pure": "_clock::now",
    "riddle_comments_percent": 0,
    "riddle_messages": 0,
}


def problems(findings):
    return [finding.problem for finding in findings if not isinstance(finding, plain_english.Summary)]


class FolderTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)

    def write(self, path, content):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(content, encoding="utf-8")
        return Source(path, content)

    def test_a_function_above_the_limit_is_found_with_its_line(self):
        source = self.write("common/a.cc", "\nint F() {\n  int a = 1;\n  a += 2;\n  return a;\n}\n")
        (finding,) = structure.check_functions(self.root, [source], LIMITS)
        self.assertEqual((finding.path, finding.line), ("common/a.cc", 2))
        self.assertIn("5 lines", finding.problem)
        self.assertEqual(list(structure.check_functions(self.root, [source], {**LIMITS, "function_exceptions": ["common/a.cc:F"]})), [])

    def test_an_include_of_an_undeclared_folder_is_found(self):
        self.write("common/http/CMakeLists.txt", "longshore_folder(DEPS common)")
        self.write("common/CMakeLists.txt", "longshore_folder(DEPS x\n TEST_DEPS common_http)")
        http = self.write("common/http/h.h", "")
        source = self.write("common/a.cc", '#include "common/http/h.h"\n')
        test = self.write("common/a_test.cc", '#include "common/http/h.h"\n')
        (finding,) = structure.check_declared(self.root, [http, source, test])
        self.assertEqual((finding.path, finding.line), ("common/a.cc", 1))

    def test_a_folder_with_threads_whose_tests_are_not_on_the_list_is_found(self):
        self.write("cmake/Longshore.cmake", "set(LONGSHORE_THREADED\n  common/os common/none)\nset(LONGSHORE_THREADED_SHORT common/os)\n")
        sources = [
            Source("common/a.cc", "// std::thread\nstd::mutex one;\nstd::atomic<int> two;\n"),
            Source("common/a_test.cc", ""),
            Source("common/os/b.cc", "std::thread b;\n"),
            Source("common/os/b_test.cc", ""),
            Source("common/untested/c.cc", "std::thread c;\n"),
            Source("common/json/d.cc", "int d;\n"),
            Source("common/json/d_test.cc", "std::thread d;\n"),
        ]
        found = list(structure.check_threaded(self.root, sources))
        self.assertEqual([(one.path, one.line) for one in found], [("cmake/Longshore.cmake", 0), ("common/a.cc", 2)])

    def test_main_and_fuzzers_include_only_what_their_program_declares(self):
        self.write("common/http/CMakeLists.txt", "longshore_folder(DEPS common)")
        self.write("common/CMakeLists.txt", "longshore_folder(DEPS x)\nlongshore_program(p DEPS common_http)\n")
        self.write("fuzz/CMakeLists.txt", "longshore_fuzzer(good DEPS common_http)\nlongshore_fuzzer(bad DEPS x MORE common_http)\n")
        include = '#include "common/http/h.h"\n'
        sources = [
            self.write(path, include)
            for path in ("common/main.cc", "common/a.cc", "fuzz/good_fuzz.cc", "fuzz/bad_fuzz.cc", "fuzz/driver.cc")
        ]
        sources.append(self.write("common/http/h.h", ""))
        found = structure.check_declared(self.root, sources)
        self.assertEqual([finding.path for finding in found], ["common/a.cc", "fuzz/bad_fuzz.cc"])

    def test_a_pure_folder_that_links_another_one_is_found_with_its_line(self):
        self.write("controller/plan/CMakeLists.txt", "longshore_folder(DEPS controller_plan yaml-cpp\n  common_os\n  TEST_DEPS common_net_http)")
        (finding,) = structure.check_pure_links(self.root, LIMITS)
        self.assertEqual((finding.path, finding.line), ("controller/plan/CMakeLists.txt", 2))
        self.assertIn("links common_os", finding.problem)

    def test_dead_links_anchors_and_paths_are_found(self):
        self.write("docs/a.md", "# One thing\n[x](b.md) [y](#one-thing) [z](#other) `common/none.h` `common/here.h`\n")
        self.write("common/here.h", "")
        found = problems(documents.check(self.root, ["docs/a.md"]))
        self.assertEqual(len(found), 3, found)

    def test_files_in_backquotes_exist_at_least_with_their_end(self):
        self.write("docs/a.md", "`b/c.h` `a/b/c.h` `x/c.h` `c.h` `b/d.py`\n`.longshore/` `helm.yaml`")
        found = documents.check(self.root, ["docs/a.md", "common/a/b/c.h"])
        self.assertEqual([finding.problem.split()[-1] for finding in found], ["x/c.h", "b/d.py"])

    def test_files_that_a_comment_names_exist(self):
        text = "// As c.h, a/c.h and none.h; not <sched.h>, NAME_fuzz.cc or x_test.cc, e.g. this.\nint a = d.h;\n"
        (finding,) = documents.check_comments([Source("common/b.cc", text)], ["common/a/c.h", "common/b.cc"])
        self.assertIn("none.h", finding.problem)

    def test_long_scripts_are_found(self):
        self.write("a.py", "\n" * 6)
        self.write("a", "#!/usr/bin/env bash\n" + "\n" * 5)
        self.write("b", "\n" * 9)
        self.write("c.sh", "\n" * 5)
        found = structure.check_scripts(self.root, ["a.py", "a", "b", "c.sh"], LIMITS)
        self.assertEqual([finding.path for finding in found], ["a.py", "a"])

    def test_without_a_commit_before_every_file_has_changed(self):
        def git(*arguments):
            subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments], cwd=self.root, check=True)

        self.enterContext(unittest.mock.patch.object(tidy, "ROOT", self.root))
        git("init", "--quiet")
        for name in ("a.py", "b.py"):
            self.write(name, "")
            git("add", ".")
            git("commit", "--quiet", "--message=change")
            self.write("new.py", "")
            if name == "a.py":
                self.assertEqual(tidy.changed_paths("HEAD~1"), {"a.py", "new.py"})
            (self.root / "new.py").unlink()
        self.assertEqual(tidy.changed_paths("HEAD~1"), {"b.py"})
        with self.assertRaises(subprocess.CalledProcessError):
            tidy.changed_paths("none")

    def test_python_shell_and_yaml_are_checked_and_each_repair_is_named(self):
        self.write("a.py", "import os\n")
        self.write("a.sh", "#!/bin/sh\nrm -rf $1/x\n")
        self.write("a.yaml", "a: 1\na: 2\n")
        (unused,) = formats.check_python(self.root, ["a.py"])
        self.assertIn("F401", unused.problem)
        self.assertIn("ruff check --fix", unused.fix)
        unquoted = list(formats.check_shell(self.root, ["a.sh"]))[-1]
        self.assertIn("SC2086", unquoted.problem)
        self.assertIn("wiki/SC2086", unquoted.fix)
        (twice,) = formats.check_yaml(self.root, ["a.yaml"])
        self.assertIn("duplication", twice.problem)
        self.assertEqual(twice.fix, "remove one of the two keys")


class SourceTest(unittest.TestCase):
    def test_long_files_and_crowded_folders_are_found(self):
        sources = [Source("common/a.cc", "\n" * 5), Source("common/b.cc", ""), Source("common/a_test.cc", "\n" * 6)]
        self.assertEqual(problems(structure.check_files(sources, LIMITS)), ["5 lines; the limit is 4"])
        self.assertEqual(problems(structure.check_folders(sources, LIMITS)), ["2 sources; the limit is 1"])

    def test_cycles_of_components_and_of_folders_are_found(self):
        sources = [
            Source("common/a.h", '#include "common/http/b.h"\n'),
            Source("common/http/b.h", ""),
            Source("common/http/b.cc", '#include "common/a.h"\n'),
        ]
        found = list(structure.check_cycles(sources, LIMITS))
        places = [("common/a.h", 1), ("common/http/b.cc", 1)]
        self.assertEqual([(finding.path, finding.line) for finding in found], places + places, "folders, then components")
        self.assertIn("common/http", found[0].problem)
        self.assertIn("common/http/b", found[2].problem)
        self.assertEqual(list(structure.check_cycles(sources[:2], LIMITS)), [])

    def test_a_namespace_that_differs_from_the_folder_is_found(self):
        sources = [
            Source("controller/store/local/a.h", "namespace longshore::store {\n"),
            Source("controller/store/local/b.h", "namespace longshore::store::local {\n"),
        ]
        (finding,) = structure.check_namespaces(sources, LIMITS)
        self.assertEqual(finding.path, "controller/store/local/a.h")

    def test_each_namespace_of_a_file_is_checked_except_those_that_only_declare(self):
        source = Source(
            "common/tls/a.h",
            "namespace CLI {\nclass App;  // Of CLI11.\n}  // namespace CLI\n"
            "namespace grpc { class Server; }\n"
            "namespace longshore::tls {\nclass A;\nint F();\n}  // namespace longshore::tls\n"
            "namespace prometheus {\nint G();\n}  // namespace prometheus\n",
        )
        (finding,) = structure.check_namespaces([source], LIMITS)
        self.assertEqual((finding.line, finding.problem), (9, "namespace prometheus in folder common/tls"))

    def test_names_of_groups_are_not_part_of_a_namespace(self):
        self.assertEqual(
            list(structure.check_namespaces([Source("common/os/process/a.h", "namespace longshore::process {\n")], LIMITS)), []
        )

    def test_headers_that_only_tests_include_may_use_what_tests_use(self):
        sources = [
            Source("common/a_test.cc", '#include "common/cases.h"\n'),
            Source("common/cases.h", '#include "common/shared.h"\n'),
            Source("common/a.cc", '#include "common/shared.h"\n'),
        ]
        self.assertEqual(structure.test_paths(sources), {"common/a_test.cc", "common/cases.h"})

    def test_the_page_of_a_kind_has_the_rules_of_a_field(self):
        field = {"type": "integer", "minimum": 1, "default": 3, "description": "How many."}
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": field}}, "status": {}}}
        version = {"name": "v1", "schema": {"openAPIV3Schema": {"description": "A thing.", **schema}}}
        definition = {"spec": {"group": "x.dev", "names": {"kind": "Thing", "plural": "things"}, "versions": [version]}}
        self.assertIn("| `n` | integer | default `3`; at least 1 | How many. |", reference.page(definition))

    def test_the_page_of_a_kind_has_each_message_of_a_field_once(self):
        rules = [{"rule": "a", "message": "too odd"}, {"rule": "b", "message": "too odd"}, {"rule": "c", "message": "too long"}]
        field = {"type": "object", "description": "Names.", "x-kubernetes-validations": rules}
        (row,) = (row for row in reference.table({"properties": {"n": field}}) if "`n`" in row)
        self.assertIn('Names. Rejected with "too odd" or "too long" if this is violated. |', row)

    def test_clocks_in_pure_folders_are_found_but_not_in_their_comments(self):
        source = Source("controller/plan/a.cc", "// system_clock::now\nauto now = system_clock::now();\n")
        (finding,) = structure.check_pure([source], LIMITS)
        self.assertEqual(finding.line, 2)
        exceptions = [Source("controller/plan/clock.h", source.content), Source("controller/plan/cases.h", source.content)]
        self.assertEqual(list(structure.check_pure(exceptions, LIMITS, tests={"controller/plan/cases.h"})), [])

    def test_pure_folders_may_use_values_but_not_the_system(self):
        limits = yaml.safe_load((pathlib.Path(__file__).parent / "limits.yaml").read_text(encoding="utf-8"))
        banned = re.compile(limits["banned_in_pure"])
        for line in (
            "std::chrono::steady_clock::now()",
            "SystemClock clock;",
            "std::time(nullptr)",
            "rand() % 6",
            "std::mt19937_64 random;",
            "std::shared_mutex mutex;",
            "std::condition_variable ended;",
            'std::cout << "a";',
            'std::fopen(name, "r")',
            "std::fstream file;",
            "std::ofstream file;",
            "std::filesystem::exists(path)",
            'std::printf("a")',
            '#include "common/os/file.h"',
            "#include <sys/stat.h>",
        ):
            self.assertIsNotNone(banned.search(line), line)
        for line in (
            "using Path = std::filesystem::path;",
            'std::fprintf(stderr, "broken invariant");',
            "const TimePoint time = At(now);",
            "settle_time(0)",
            "std::atomic<int> n;",
            "reopen(step)",
        ):
            self.assertIsNone(banned.search(line), line)

    def test_neighbouring_comment_lines_are_one_block(self):
        source = Source("common/a.h", "// One\n// two.\nint a;  // Three.\nint b;  // Four.\n")
        self.assertEqual([block.text for block in source.comments], ["One two.", "Three.", "Four."])

    def test_adjacent_strings_are_one_message(self):
        source = Source("common/a.cc", 'f("a // not a comment "\n  "and words here");')
        self.assertEqual([message.text for message in source.messages], ["a // not a comment and words here"])
        self.assertEqual(source.comments, [])


class PlainEnglishTest(unittest.TestCase):
    def test_riddles_are_found(self):
        for text in (
            "Who is asked for another model hands it on.",
            "Of the nodes of one graph.",
            "What is held nowhere is none.",
            "The text is no resource.",
            "Nothing for nobody.",
            "All but for one.",
        ):
            self.assertIsNotNone(plain_english.riddle_in(text), text)

    def test_plain_sentences_are_not_riddles(self):
        for text in (
            "Returns nullopt if no peer holds the version.",
            "Of course it may fail.",
            "The lease is no longer held.",
            "What does it cost? A second.",
            "The text is not a resource.",
        ):
            self.assertIsNone(plain_english.riddle_in(text), text)


if __name__ == "__main__":
    unittest.main()
