"""tests/golden/graph/outputs.json lists the outputs of each op that does not have exactly one tensor. Compares it with TensorFlow.

    python tests/judge/outputs_test.py      writes the file
"""

import json
import pathlib
import re

import tensorflow  # noqa: F401  (registers TensorFlow's ops)
from tensorflow.python.framework import op_def_registry

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "graph" / "outputs.json"
OPS_OF_CONTROL = {"Switch", "RefSwitch", "Merge", "RefMerge"}  # The node converts these to other ops.


def _ops() -> set[str]:
    """Returns the ops that have kernels. A unit test compares docs/ops.md with the kernels."""
    return set(re.findall(r"^\| (\w+) \|", (ROOT / "docs" / "ops.md").read_text(), re.MULTILINE)) - {"op"}


def _output(argument) -> dict[str, str]:
    """Describes an output. `number` and `types` are the attributes that determine how many tensors it has."""
    counts = {"number": argument.number_attr, "types": argument.type_list_attr}
    return {"name": argument.name} | {kind: attribute for kind, attribute in counts.items() if attribute}


def _outputs_in_tensorflow() -> dict[str, list[dict[str, str]]]:
    outputs = {op: [_output(argument) for argument in op_def_registry.get(op).output_arg]
               for op in sorted(_ops() | OPS_OF_CONTROL)}
    return {op: listed for op, listed in outputs.items() if len(listed) != 1 or len(listed[0]) > 1}


def test_the_file_lists_the_outputs_that_tensorflow_has():
    assert len(_ops()) > 400
    assert json.loads(GOLDEN.read_text()) == _outputs_in_tensorflow()


def test_a_saved_model_always_contains_the_number_of_outputs():
    """A SavedModel omits attributes with their default value, but attributes that count outputs have no default."""
    for op, outputs in _outputs_in_tensorflow().items():
        counts = {output.get("number") or output.get("types") for output in outputs}
        assert not [attr.name for attr in op_def_registry.get(op).attr if attr.name in counts and attr.HasField("default_value")], op


if __name__ == "__main__":
    lines = [f"  {json.dumps(op)}: {json.dumps(listed)}" for op, listed in _outputs_in_tensorflow().items()]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
