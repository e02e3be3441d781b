"""Tests of the picture that recording.py makes. Run: ./dev test tests_demo_test"""

import unittest
import xml.etree.ElementTree

import recording


class Recording(unittest.TestCase):
    def test_frames_begin_at_the_first_line_and_fast_ones_are_left_out(self):
        pieces = [(1.0, b"\x1b[Hone\x1b[K\r\n\x1b[J"), (1.1, b"\x1b[Htwo\x1b[K\r\n"), (2.0, b"\x1b[J\x1b[Hthree\x1b[K\r\n\x1b[J")]
        self.assertEqual(recording.frames_of(pieces), [(0.0, ["two", ""]), (1.0, ["three", ""])])

    def test_a_line_has_spans_with_their_columns_and_styles(self):
        self.assertEqual(recording.spans_of("  a b   \x1b[32mc\x1b[0m d"),
                         [(2, "", "a b"), (8, recording.STYLES["32"], "c"), (10, "", "d")])

    def test_a_line_is_drawn_once_for_the_time_in_which_it_stays(self):
        frames = [(0.0, ["same", "old"]), (1.0, ["same", "new"])]
        self.assertEqual(recording.intervals_of(frames, 2.0), [(0, "same", 0.0, 2.0), (1, "old", 0.0, 1.0), (1, "new", 1.0, 2.0)])

    def test_the_picture_is_valid_and_has_no_scripts(self):
        picture = recording.svg_of([(0.0, ["<b> & x"]), (1.0, ["y"])])
        root = xml.etree.ElementTree.fromstring(picture)
        self.assertIn("<b> & x", "".join(root.itertext()))
        self.assertNotIn("script", picture)
        self.assertNotIn("href", picture)


if __name__ == "__main__":
    unittest.main()
