"""Manual pages contain the texts of --help unchanged, those of commands too."""

import datetime
import os
import pathlib
import re
import subprocess

import man_page
import pytest
from debian_package import PROGRAMS

BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", pathlib.Path(__file__).resolve().parents[2] / "build/dev/bin"))
# Some commands of each program, as a page shows them.
COMMANDS = {"longshore": ["longshore promote", "longshore model", "longshore set version"], "longshore-controller": [], "longshore-load": [],
            "longshore-model": [r"longshore\-model run"], "longshore-node": [r"longshore\-node replay"]}
DATE = datetime.date(2030, 1, 31)


def test_a_page_has_a_title_a_name_and_the_text():
    page = man_page.page("longshore", "look at models", "0.1.0", DATE, "Usage: longshore\n", {})
    assert page.startswith('.TH LONGSHORE 1 "2030-01-31" "Longshore 0.1.0" "User Commands"\n.SH NAME\nlongshore \\- look at models\n')
    assert page.endswith("Usage: longshore\n.fi\n")


def test_each_command_has_a_section():
    page = man_page.page("longshore", "look at models", "0.1.0", DATE, "Usage: longshore\n", {"longshore get": "List objects\n"})
    assert page.endswith(".SH COMMANDS\n.SS longshore get\n.nf\nList objects\n.fi\n")


def test_special_characters_of_roff_are_escaped():
    assert man_page.literal(".hidden\n'quoted\na\\b --flag") == "\\&.hidden\n\\&'quoted\na\\eb \\-\\-flag"


def test_commands_are_read_from_the_text_of_help():
    text = "Options:\n  --flag  A flag\n\nSubcommands:\n  get         List models\n              or fleets\n  ca          Manage it\n\nExit codes: 0\n"
    assert man_page.listed_in(text) == ["get", "ca"]
    assert man_page.listed_in("Options:\n  --flag  A flag\n") == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_page_of_a_program_has_all_its_commands_and_no_errors(program: str, tmp_path: pathlib.Path):
    path = tmp_path / f"{program}.1"
    man_page.write(BIN / program, PROGRAMS[program], "0.1.0", DATE, path)
    sections = re.findall(r"^\.SS (.*)$", path.read_text(), re.MULTILINE)
    assert set(COMMANDS[program]) <= set(sections) and bool(sections) == bool(COMMANDS[program])
    shown = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", path], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")
