"""The sentences of docs/contract.md."""

import pathlib
import re

CONTRACT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "contract.md"
SENTENCE = re.compile(r"^- \*\*([A-Z]+\d+)\*\* (.+)$", re.MULTILINE)


def sentences() -> dict[str, str]:
    """Returns the contract: name -> sentence."""
    return dict(SENTENCE.findall(CONTRACT.read_text()))
