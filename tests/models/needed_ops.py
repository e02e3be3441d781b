"""Finds the ops that the graphs of SavedModels need. Writes OPS.md; the judge also checks error messages with it."""

import pathlib

from tensorflow.core.protobuf import saved_model_pb2

PARTS = ("signatures", "initialiser", "restore")


def _closure(names: list[str], nodes: dict) -> set[str]:
    """All nodes on which the named ones depend."""
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop().lstrip("^").split(":")[0]
        if name in nodes and name not in seen:
            seen.add(name)
            todo.extend(nodes[name].input)
    return seen


def _functions_of(node) -> list[str]:
    values = node.attr.values()
    return [v.func.name for v in values if v.HasField("func")] + [f.name for v in values for f in v.list.func]


def _ops(start: list, library: dict) -> set[str]:
    """The ops of the nodes and of all functions that they call, directly or indirectly."""
    ops, seen, todo = set(), set(), list(start)
    while todo:
        node = todo.pop()
        ops.add(node.op)
        for name in [node.op, *_functions_of(node)]:
            if name in library and name not in seen:
                seen.add(name)
                todo.extend(library[name].node_def)
    return ops - library.keys()


def ops_of(version_dir: pathlib.Path) -> dict[str, set[str]]:
    """The ops that each of PARTS needs."""
    model = saved_model_pb2.SavedModel.FromString((version_dir / "saved_model.pb").read_bytes())
    graph = model.meta_graphs[0]
    nodes = {node.name: node for node in graph.graph_def.node}
    library = {function.signature.name: function for function in graph.graph_def.library.function}
    starts = {part: [] for part in PARTS}
    for name, signature in graph.signature_def.items():
        part = "initialiser" if name == "__saved_model_init_op" else "signatures"
        starts[part] += [tensor.name for tensor in signature.outputs.values()]
        starts[part] += [tensor.name for tensor in signature.inputs.values()]
    for key in ("legacy_init_op", "saved_model_main_op"):
        starts["initialiser"] += graph.collection_def[key].node_list.value if key in graph.collection_def else []
    if graph.saver_def.restore_op_name:
        starts["restore"].append(graph.saver_def.restore_op_name)
    return {part: _ops([nodes[name] for name in _closure(names, nodes)], library) for part, names in starts.items()}


def version_dirs(models: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path.parent for path in models.glob("*/*/saved_model.pb"))


def write_table(models: pathlib.Path) -> None:
    needed = {str(path.relative_to(models)): ops_of(path) for path in version_dirs(models)}
    lines = ["# The ops that the models need", "",
             "Written by train.py: all ops that the signatures, the initialiser and the restore function of each model reach,",
             "including those in functions that they call.", "",
             "| op | " + " | ".join(PARTS) + " |", "|---|---|---|---|"]
    for op in sorted({op for parts in needed.values() for ops in parts.values() for op in ops}):
        users = [", ".join(name for name, parts in needed.items() if op in parts[part]) for part in PARTS]
        lines.append(f"| {op} | " + " | ".join(users) + " |")
    (models / "OPS.md").write_text("\n".join(lines) + "\n")
