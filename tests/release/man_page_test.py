"""Manual pages contain the text of --help unchanged."""

import datetime

import man_page


def test_a_page_has_a_title_a_name_and_the_text():
    page = man_page.page("longshore", "look at models", "0.1.0", datetime.date(2030, 1, 31), "Usage: longshore\n")
    assert page.startswith('.TH LONGSHORE 1 "2030-01-31" "Longshore 0.1.0" "User Commands"\n.SH NAME\nlongshore \\- look at models\n')
    assert "Usage: longshore\n.fi\n" in page


def test_special_characters_of_roff_are_escaped():
    assert man_page.literal(".hidden\n'quoted\na\\b --flag") == "\\&.hidden\n\\&'quoted\na\\eb \\-\\-flag"
