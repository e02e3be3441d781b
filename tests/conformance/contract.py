"""The sentences of docs/contract.md."""

import pathlib
import re

CONTRACT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "contract.md"
SENTENCE = re.compile(r"^- \*\*([A-Z]+\d+)\*\* (.+)$", re.MULTILINE)


def sentences() -> dict[str, str]:
    """Returns the contract: name -> sentence."""
    return dict(SENTENCE.findall(CONTRACT.read_text()))


def differences() -> set[str]:
    """Returns the names of the sentences in which Longshore differs from TensorFlow Serving. The sentences O are about the
    Open Inference Protocol, which TensorFlow Serving does not have."""
    return {name for name, sentence in sentences().items() if "**Differs**" in sentence and not name.startswith("O")}
