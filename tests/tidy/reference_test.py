"""The pages of the kinds show every rule of a field, and are exactly those of the kinds."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import reference


def rules(schema):
    (row,) = (row for row in reference.table({"properties": {"n": schema}}) if "`n`" in row)
    return row.replace("\\|", "/").split(" | ")[2]


class Reference(unittest.TestCase):
    def test_each_limit_of_a_value_is_shown(self):
        for schema, shown in (
            ({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[a-z|]+$"}, "1 to 9 characters; matches `^[a-z/]+$`"),
            ({"type": "string", "minLength": 1, "pattern": "`"}, "at least 1 characters; matches `` ` ``"),
            ({"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 1}}, "each item at least 1; at least 2 items"),
            ({"type": "object", "minProperties": 1, "maxProperties": 4, "additionalProperties": {"type": "string", "maxLength": 8}},
             "each value at most 8 characters; 1 to 4 entries"),
            ({"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1}, "more than 0; at most 1"),
            ({"type": "number", "minimum": 0, "maximum": 1, "exclusiveMaximum": True}, "at least 0; less than 1"),
            ({"type": "number", "minimum": 0, "maximum": 1}, "0 to 1"),
        ):
            with self.subTest(shown):
                self.assertEqual(rules(schema), shown)

    def test_a_page_that_no_kind_makes_is_found(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / "docs/reference").mkdir(parents=True)
        (root / "docs/reference/old.md").touch()
        (finding,) = reference.check(root)
        self.assertEqual((finding.path, finding.fix), ("docs/reference/old.md", "remove it"))


if __name__ == "__main__":
    unittest.main()
