"""Links in code are no links; links around code are."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import documents


class Documents(unittest.TestCase):
    def test_only_links_outside_of_code_are_checked(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / "a.md").write_text("`^[a-z]([0-9])` and `` ` [b](c) `` and [`d`](e.md)\n")
        self.assertEqual([finding.problem for finding in documents.check(root, ["a.md"])], ["the target of the link e.md does not exist"])


if __name__ == "__main__":
    unittest.main()
