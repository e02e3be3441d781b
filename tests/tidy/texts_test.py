"""The texts for users outside of the sources, and the paragraphs of raw strings, are found with their lines and checked for riddles."""

import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import draw
import plain_english
import texts
from sources import Source, Text

LIMITS = {"riddle_comments_percent": 0, "riddle_messages": 0}
RIDDLE = "Nothing for nobody here."
FILES = {
    "crds/things.yaml": f"spec:\n  n: {{description: {RIDDLE}}}\n",
    texts.VALUES: f"# A comment\n# of two lines.\na: 1  # Not this.\nb:\n  # {RIDDLE}\n  c: 1\n",
    texts.RULES: f"groups:\n- rules:\n  - alert: A\n    annotations:\n      summary: {RIDDLE}\n",
    "deploy/grafana/a.json": f'{{"title": "The title",\n"panels": [{{"description": "{RIDDLE}"}}]}}\n',
}


class Texts(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for path, content in FILES.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(content, encoding="utf-8")

    def found(self, kind):
        return [(page.path, text.line, text.text) for page in kind(self.root, sorted(FILES)) for text in page.texts]

    def test_texts_are_found_with_their_lines(self):
        self.assertEqual(self.found(texts.descriptions), [("crds/things.yaml", 2, RIDDLE)])
        self.assertEqual(self.found(texts.value_comments), [(texts.VALUES, 1, "A comment of two lines."), (texts.VALUES, 5, RIDDLE)])
        self.assertEqual(self.found(texts.alerts), [(texts.RULES, 5, RIDDLE)])
        self.assertEqual(self.found(texts.dashboards), [("deploy/grafana/a.json", 1, "The title"), ("deploy/grafana/a.json", 2, RIDDLE)])

    def test_riddles_in_pages_and_raw_strings_are_found(self):
        source = Source("common/a.cc", f'auto help = R"--(Usage: a program\n\n{RIDDLE})--";\n')
        pages = [*texts.descriptions(self.root, sorted(FILES)), *texts.value_comments(self.root, sorted(FILES))]
        found = [finding for finding in plain_english.check([source], LIMITS, pages) if not isinstance(finding, plain_english.Summary)]
        self.assertEqual([(finding.path, finding.line) for finding in found], [("common/a.cc", 3), ("crds/things.yaml", 2), (texts.VALUES, 5)])

    def test_a_raw_string_has_a_message_for_each_paragraph(self):
        source = Source("common/a.cc", 'f(R"(\nThe first one\n  of two lines.\n \nThe second one, "quoted".\n)");\ng("not the same message");\n')
        self.assertEqual(source.messages, [
            Text(2, "The first one of two lines."), Text(5, 'The second one, "quoted".'), Text(7, "not the same message")])

    def test_messages_are_drawn_from_all_texts(self):
        self.enterContext(unittest.mock.patch.object(draw, "ROOT", self.root))
        source = Source("common/a.cc", 'f(R"(A text for users.)");\n')
        self.assertEqual([path for path, _, _ in draw.messages([source], sorted(FILES))], [
            "common/a.cc", "crds/things.yaml", texts.VALUES, texts.VALUES, texts.RULES, "deploy/grafana/a.json", "deploy/grafana/a.json"])


if __name__ == "__main__":
    unittest.main()
