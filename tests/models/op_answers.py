"""Records what TensorFlow computes for single ops in tests/golden/engine/ops/FAMILY.json, for the engine's tests.

    python tests/models/op_answers.py [FAMILY ...]

Each case is a graph of one op, or of several that share a table, and runs without graph optimisations. A family is a module of
tests/models/op_cases.
"""

import argparse
import importlib
import json
import os
import pathlib

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # Use TensorFlow's own kernels: those of oneDNN abort the process where these return an error.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from google.protobuf import text_format  # noqa: E402

from op_cases.case import CASES  # noqa: E402

HERE = pathlib.Path(__file__).parent
OUT = HERE.parent / "golden" / "engine" / "ops"
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
    message = message.split(" with these attrs")[0]  # The order of the attributes differs from run to run.
    lines = [line for line in message.split("\n") if line.strip() and "Graph execution error" not in line]
    return next((line for line in lines if not line.startswith(("Detected at", "Node:", "  "))), "an error")[:100]


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
            return case | {"error": reason(error.message)}


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
        text = text_format.MessageToString(graph.as_graph_def(), as_one_line=True)
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


def answer_case(op: str, arguments, outputs: int | None) -> dict:
    if callable(arguments):
        return answer_of_graph(op, arguments)
    try:
        return answer(op, arguments, outputs)
    except ValueError:
        return answer(op, arguments, outputs, has_shapes=True)


def write(family: str) -> None:
    CASES.clear()
    importlib.import_module(f"op_cases.{family}")
    lines = []
    for op, arguments, outputs in CASES:
        try:
            made = answer_case(op, arguments, outputs)
            lines.append(json.dumps(made, ensure_ascii=False, separators=(",", ":")))
        except (TypeError, ValueError) as error:  # TensorFlow rejects the graph.
            print(f"left out: {op}: {error}")
    out = OUT / f"{family}.json"
    out.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{family}: {len(lines)} cases, {out.stat().st_size} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", nargs="*", metavar="FAMILY", help=f"one of {', '.join(FAMILIES)}; default: all")
    wanted = parser.parse_args().family or FAMILIES
    if unknown := sorted(set(wanted) - set(FAMILIES)):
        parser.error(f"unknown family: {', '.join(unknown)}; the families are: {', '.join(FAMILIES)}")
    OUT.mkdir(exist_ok=True)
    for family in wanted:
        write(family)


if __name__ == "__main__":
    main()
