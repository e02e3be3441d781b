"""Each rule of the formats finds its violation with its repair, and a program that fails in another way is reported, too."""

import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import formats

YAML = {  # Rule -> a text that violates only this rule.
    "key-duplicates": "a: 1\na: 2\n",
    "trailing-spaces": "a: 1 \n",
    "new-line-at-end-of-file": "a: 1",
    "empty-lines": "a: 1\n\n\nb: 2\n",
    "new-lines": "a: 1\r\n",
    "truthy": "a: yes\n",
    "colons": "a:  1\n",
    "hyphens": "-  a\n",
    "comments": "#a\nb: 1\n",
    "comments-indentation": "a:\n  b: 1\n    # c\n  d: 2\n",
    "braces": "a: { b: 1 }\n",
    "brackets": "a: [ 1 ]\n",
    "anchors": "a: *b\n",
}


class Formats(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "bin").mkdir()
        self.set_environment(PATH=f"{self.root}/bin:{os.environ['PATH']}")

    def set_environment(self, **variables):
        self.enterContext(mock.patch.dict(os.environ, variables))

    def write(self, path, content):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(content.encode())

    def write_program(self, path, script):
        self.write(path, f"#!/bin/sh\n{script}\n")
        (self.root / path).chmod(0o755)

    def test_every_rule_of_yaml_finds_its_violation(self):
        self.assertEqual(set(YAML), set(formats._YAML_RULES))
        for rule, content in YAML.items():
            with self.subTest(rule):
                self.write("a.yaml", content)
                found = list(formats.check_yaml(self.root, ["a.yaml"]))
                self.assertTrue(found and all(f"({rule})" in finding.problem for finding in found), found)
                self.assertEqual(found[0].fix, formats._YAML_RULES[rule][0])

    def test_invalid_yaml_is_found_and_correct_yaml_is_not(self):
        self.write("a.yaml", "a: [1\nb: 2\n")
        (finding,) = formats.check_yaml(self.root, ["a.yaml"])
        self.assertEqual(finding.fix, formats._YAML_SYNTAX_FIX)
        self.write("a.yaml", "# One.\na: 1  # Two.\n\nb: {c: [1, 2], on: true}\nd: &e {f: 1}\ng: *e\n")
        self.assertEqual(list(formats.check_yaml(self.root, ["a.yaml"])), [])

    def test_files_that_are_not_formatted_are_found_and_so_is_a_clang_format_that_fails(self):
        self.write("a.cc", "int  a;\nint  b;\n")
        self.write(".clang-format", "BasedOnStyle: Google\n")
        (finding,) = formats.check_cpp(self.root, ["a.cc"])
        self.assertEqual((finding.path, finding.line), ("a.cc", 1))
        self.write("a.cc", "int a;\n")
        self.assertEqual(list(formats.check_cpp(self.root, ["a.cc"])), [])
        self.write(".clang-format", "Basis: none\n")
        (finding,) = formats.check_cpp(self.root, ["a.cc"])
        self.assertIn("clang-format ended with 1", finding.problem)

    def check_chart(self, helm, **options):
        self.write("helm/a/Chart.yaml", "name: a\n")
        self.write_program("kubernetes/helm", helm)
        self.set_environment(LONGSHORE_KUBERNETES=f"{self.root}/kubernetes")
        return [finding.problem for finding in formats.check_chart(self.root, ["helm/a/values.yaml"], **options)]

    def test_what_helm_finds_is_found_on_both_outputs(self):
        self.assertEqual(self.check_chart("exit 0"), [])
        self.assertEqual(self.check_chart('echo "[INFO] one"; echo "[ERROR] two"; echo "[WARNING] three" >&2; exit 1'), ["[ERROR] two", "[WARNING] three"])
        self.assertEqual(self.check_chart("echo no memory >&2; exit 3"), ["helm lint ended with 3: no memory"])

    def test_helm_is_found_in_the_cache_and_a_chart_without_helm_is_a_violation_if_all_is_checked(self):
        self.set_environment(LONGSHORE_KUBERNETES="", XDG_CACHE_HOME=str(self.root), PATH=str(self.root / "bin"))
        self.write("helm/a/Chart.yaml", "name: a\n")
        with mock.patch.object(sys, "stderr"):
            self.assertEqual(list(formats.check_chart(self.root, ["helm/a/values.yaml"])), [])
        self.assertEqual(list(formats.check_chart(self.root, ["docs/a.md"], must_run=True)), [])
        (finding,) = formats.check_chart(self.root, ["helm/a/values.yaml"], must_run=True)
        self.assertIn("helm was not found", finding.problem)
        self.write_program("longshore/kubernetes/bin/helm", "exit 0")
        self.assertEqual(formats.find_helm(), f"{self.root}/longshore/kubernetes/bin/helm")


if __name__ == "__main__":
    unittest.main()
