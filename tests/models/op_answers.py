"""Records what TensorFlow computes for single ops in tests/golden/engine/ops/FAMILY.json, for the engine's tests.
tests/golden/engine/rejected_cases.json has the indexes of the cases for which TensorFlow rejects the graph, by family.

    python tests/models/op_answers.py [FAMILY ...]
    python tests/models/op_answers.py --sample 200 --seed 7     (computes drawn cases again, and compares them with the files)

Each case is a graph of one op, or of several that share a table, and runs without graph optimisations. A family is a module of
tests/models/op_cases.
"""

import argparse
import functools
import importlib
import json
import os
import pathlib
import random
import re
import sys

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # Use TensorFlow's own kernels: those of oneDNN abort the process where these return an error.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from google.protobuf import text_format  # noqa: E402
from tensorflow.core.protobuf import error_codes_pb2  # noqa: E402

from op_cases.case import CASES  # noqa: E402

HERE = pathlib.Path(__file__).parent
OUT = HERE.parent / "golden" / "engine" / "ops"
REJECTED = OUT.parent / "rejected_cases.json"
TEXT_MAX = 300  # The most characters of an error's text that are kept.
FAMILIES = sorted(path.stem for path in (HERE / "op_cases").glob("*.py") if path.stem not in ("__init__", "case"))


def plain(value):
    """The JSON form of a number, string or bool. NaN and infinities become strings; bytes that are not UTF-8 become {"hex": ..}."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"hex": value.hex()}
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if not np.isfinite(value):
        return str(float(value))
    return float(str(value))


def tensor(array, dtype=None) -> dict:
    """The JSON form of a tensor. `dtype` is TensorFlow's type if the array does not determine it; quantised types become integers."""
    array = np.asarray(array)
    dtype = dtype or (tf.string if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype))
    if array.dtype.names:  # Arrays of quantised types are records with one integer.
        array = array[array.dtype.names[0]]
    values = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1)]
    return {"type": dtype.as_datatype_enum, "shape": list(array.shape), "values": [plain(v) for v in values]}


def is_tensor(value) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, list) and bool(value) and isinstance(value[0], np.ndarray))


def build(op: str, arguments: dict, has_shapes: bool = False):
    """Adds the op to the default graph. Returns it and the arrays to feed, by placeholder. Placeholders have shapes only if has_shapes."""
    fed = {}

    def placeholder(array):
        dtype = tf.string if array.dtype.kind in "OSU" else array.dtype
        made = tf.compat.v1.placeholder(dtype, array.shape if has_shapes else None)
        fed[made] = array
        return made

    given = {}
    for name, value in arguments.items():
        if not is_tensor(value):
            given[name] = value
        else:
            given[name] = [placeholder(v) for v in value] if isinstance(value, list) else placeholder(value)
    before = set(tf.compat.v1.get_default_graph().get_operations())
    getattr(tf.raw_ops, op)(**given)
    made = [o for o in tf.compat.v1.get_default_graph().get_operations() if o.type == op and o not in before]
    return made[0], fed


def reason(message: str) -> str:
    for differs in (" with these attrs", " Debug info"):  # What follows differs from run to run.
        message = message.split(differs)[0]
    message = re.sub(r"TensorArrayV3_\d+", "TensorArrayV3", message)  # TensorFlow counts the arrays of the process.
    lines = [line for line in message.split("\n") if line.strip() and "Graph execution error" not in line]
    return next((line for line in lines if not line.startswith(("Detected at", "Node:", "  "))), "an error")[:TEXT_MAX]


def quiet() -> tf.compat.v1.ConfigProto:
    config = tf.compat.v1.ConfigProto()
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def run(case: dict, wanted: list, fed: dict, runs: int = 1) -> dict:
    with tf.compat.v1.Session(config=quiet()) as session:
        try:
            answers = [[tensor(value, of.dtype if of.dtype.is_quantized else None)
                        for of, value in zip(wanted, session.run(wanted, fed))] for _ in range(runs)]
            return case | {"outputs": answers[0]} | ({"later": answers[1:]} if runs > 1 else {})
        except tf.errors.OpError as error:
            return case | {"code": error_codes_pb2.Code.Name(error.error_code), "error": reason(error.message)}


def answer_of_graph(op: str, build_graph) -> dict:
    with tf.Graph().as_default() as graph:
        fed = {}

        def feed(array):
            dtype = tf.string if array.dtype.kind in "OSU" else array.dtype
            with tf.control_dependencies(None):  # Placeholders need no control dependencies; only ops wait for each other.
                made = tf.compat.v1.placeholder(dtype, name=f"in{len(fed)}")
            fed[made] = array
            return made

        wanted = build_graph(feed)
        made = graph.as_graph_def()
        for node in [*made.node, *(node for body in made.library.function for node in body.node_def)]:
            node.ClearField("experimental_type")  # The field is newer than the engine's copy of the schema.
        text = text_format.MessageToString(made, as_one_line=True)
        case = {"op": op, "attributes": {}, "inputs": [tensor(value) for value in fed.values()], "graph": text,
                "fetches": [value.name for value in wanted]}
        return run(case, wanted, fed)


def answer(op: str, arguments: dict, outputs: int | None, has_shapes: bool = False) -> dict:
    with tf.Graph().as_default():
        made, fed = build(op, {k: v for k, v in arguments.items() if k != "runs"}, has_shapes)
        attributes = {k: str(v).strip() for k, v in sorted(made.node_def.attr.items()) if not k.startswith("_")}
        wanted = made.outputs[:outputs]
        case = {"op": op, "attributes": attributes, "inputs": [tensor(fed[i]) for i in made.inputs]}
        return run(case, wanted, fed, arguments.get("runs", 1))


def answer_case(op: str, arguments, outputs: int | None) -> dict | None:
    """The answer to a case; None if TensorFlow rejects the op. It must accept the graphs of cases that bring their own."""
    if callable(arguments):
        return answer_of_graph(op, arguments)
    for has_shapes in (False, True):
        try:
            return answer(op, arguments, outputs, has_shapes)
        except (TypeError, ValueError):
            pass
    return None


@functools.cache
def cases_of(family: str) -> tuple:
    """The cases of a family: (op, arguments, outputs) each, as in op_cases/case.py."""
    CASES.clear()
    importlib.import_module(f"op_cases.{family}")
    return tuple(CASES)


def answers(family: str, which=None) -> list[dict | None]:
    """TensorFlow's answers to the cases of a family with the indexes `which` (default: all); None for a graph that TensorFlow rejects."""
    cases = cases_of(family)
    return [answer_case(*cases[i]) for i in (range(len(cases)) if which is None else which)]


def golden(family: str) -> pathlib.Path:
    return OUT / f"{family}.json"


def question(case: dict) -> str:
    """Tells the cases of a family apart: the graph and its inputs, without the answer."""
    return json.dumps({key: value for key, value in case.items() if key not in ("outputs", "later", "code", "error")})


def is_same(given, wanted) -> bool:
    """Whether two answers are equal. Floats may differ by a millionth: a few of TensorFlow's kernels, such as Rsqrt, use
    instructions whose last bits depend on the processor."""
    if isinstance(wanted, dict):
        return isinstance(given, dict) and given.keys() == wanted.keys() and all(is_same(given[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(given, list) and len(given) == len(wanted) and all(map(is_same, given, wanted))
    if isinstance(wanted, float) and isinstance(given, float):
        return abs(given - wanted) <= 1e-6 * abs(wanted)
    return type(given) is type(wanted) and given == wanted


def recorded(family: str) -> dict[str, dict]:
    """The cases of the golden file, by question()."""
    return {question(case): case for case in json.loads(golden(family).read_text())} if golden(family).exists() else {}


def rejected() -> dict[str, list[int]]:
    """Family -> the indexes of the cases whose graphs TensorFlow rejects. Families without such cases are left out."""
    return json.loads(REJECTED.read_text()) if REJECTED.exists() else {}


def write(family: str) -> None:
    """Writes the golden file, and the rejected cases. Cases whose answers are the same keep their lines, so that only real changes show."""
    old, made = recorded(family), answers(family)
    kept = [old[question(answer)] if is_same(old.get(question(answer)), answer) else answer for answer in made if answer]
    lines = [json.dumps(answer, ensure_ascii=False, separators=(",", ":")) for answer in kept]
    golden(family).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    others = {other: indexes for other, indexes in rejected().items() if other != family}
    now = {family: without} if (without := [index for index, answer in enumerate(made) if not answer]) else {}
    rows = [f"{json.dumps(name)}: {json.dumps(indexes)}" for name, indexes in sorted((others | now).items())]
    REJECTED.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(f"{family}: {len(lines)} cases, {len(made) - len(lines)} left out, {golden(family).stat().st_size} bytes")


def miscounted() -> list[str]:
    """Returns a text for each family whose golden file has not a row for each case that TensorFlow accepts."""
    texts = []
    for family in FAMILIES:
        rows = len(json.loads(golden(family).read_text())) if golden(family).exists() else 0
        cases, without = len(cases_of(family)), len(rejected().get(family, []))
        if rows != cases - without:
            texts.append(f"{family}: {golden(family).name} has {rows} rows for {cases} cases, of which TensorFlow rejects {without}")
    return texts


def differences(count: int, seed: int) -> list[str]:
    """Answers `count` drawn cases of all families again. Returns a text for each that differs from the golden files: also if TensorFlow
    rejects a case that had an answer, or answers one that it rejected."""
    every = [(family, index) for family in FAMILIES for index in range(len(cases_of(family)))]
    drawn = sorted(random.Random(seed).sample(every, min(count, len(every))))
    old, without = {family: recorded(family) for family in FAMILIES}, rejected()
    texts = []
    for family, index in drawn:
        made = answers(family, [index])[0]
        was_rejected = index in without.get(family, [])
        if was_rejected != (made is None):
            texts.append(f"{family}, case {index}, {cases_of(family)[index][0]}: {'answered' if made else 'rejected'}, not as in {REJECTED.name}")
        elif made and not is_same(old[family].get(question(made)), made):
            texts.append(f"{family}, case {index}, {made['op']}: not as in {golden(family).name}")
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", nargs="*", metavar="FAMILY", help=f"one of {', '.join(FAMILIES)}; default: all")
    parser.add_argument("--sample", type=int, metavar="N", help="compare N drawn cases with the golden files, and write nothing")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    options = parser.parse_args()
    if options.sample:
        different = miscounted() + differences(options.sample, options.seed)
        sys.exit("\n".join(different) if different else 0)
    wanted = options.family or FAMILIES
    if unknown := sorted(set(wanted) - set(FAMILIES)):
        parser.error(f"unknown family: {', '.join(unknown)}; the families are: {', '.join(FAMILIES)}")
    OUT.mkdir(exist_ok=True)
    for family in wanted:
        write(family)


if __name__ == "__main__":
    main()
