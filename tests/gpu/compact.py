"""Writes the facts of the programs in a short form, without losing what they say."""

import json
import re

ENGINES = re.compile(r"engines at batch \d+")
ROWS_MIN = 3
LINE_MAX = 300


def _joined(cells):
    """One value if all are the same, otherwise the list."""
    return cells[0] if all(cell == cells[0] for cell in cells) else cells


def by_shape(table):
    """Joins the rows of a shape: each cell becomes the list of its values at the table's batches, or one value if they are all the same."""
    shape, batch = table["columns"].index("shape"), table["columns"].index("batch")
    others = [i for i in range(len(table["columns"])) if i not in (shape, batch)]
    joined = {}
    for row in sorted(table["rows"], key=lambda row: row[batch]):
        joined.setdefault(row[shape], []).append(row)
    return {"batches": sorted({row[batch] for row in table["rows"]}), "columns": ["shape", *(table["columns"][i] for i in others)],
            "rows": [[name, *(_joined([row[i] for row in rows]) for i in others)] for name, rows in joined.items()]}


def sum_engines(tables):
    """One table of engines for all batches: numbers of plans are added; of the workspaces the largest counts."""
    summed = {}
    for table in tables:
        largest = table["columns"].index("most workspace MiB")
        for row in table["rows"]:
            before = summed.get((row[0], row[1]), row[:2] + [type(cell)() for cell in row[2:]])
            added = [max(a, b) if i == largest or isinstance(a, str) else a + b for i, (a, b) in enumerate(zip(before, row))]
            summed[(row[0], row[1])] = row[:2] + added[2:]
    return {"columns": tables[0]["columns"], "rows": list(summed.values())}


def tables(found):
    """The tables of a part."""
    engines = [table for name, table in found.items() if ENGINES.fullmatch(name)]
    others = {name: by_shape(table) if name == "convolutions" else table for name, table in found.items() if not ENGINES.fullmatch(name)}
    return {**others, **({"engines": sum_engines(engines)} if engines else {})}


def facts_and_tables(facts):
    """Facts with the same name and the same keys become a table with that name if there are several; the others stay."""
    alike = {}
    for fact in facts:
        alike.setdefault(tuple(fact) + (fact["name"],), []).append(fact)
    made = {}
    for group in alike.values():
        if len(group) >= ROWS_MIN:
            columns = [key for key in group[0] if key != "name"]
            made[group[0]["name"]] = {"columns": columns, "rows": [[fact[key] for key in columns] for fact in group]}
    return [fact for fact in facts if len(alike[tuple(fact) + (fact["name"],)]) < ROWS_MIN], made


def attributes(facts):
    """Leaves out the attributes that are also fields of cudaDeviceProp."""
    fields = {name.lower() for fact in facts if fact["name"] == "fields of cudaDeviceProp" for name in fact}
    return [{key: value for key, value in fact.items() if key == "name" or key.lower() not in fields} if fact["name"] == "attributes" else fact
            for fact in facts]


def _short_numbers(value):
    """Whole numbers without a decimal point."""
    if isinstance(value, dict):
        return {key: _short_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def to_text(value, indent=""):
    """JSON, in which each fact, each row and whatever else is short has a line."""
    line = json.dumps(_short_numbers(value), separators=(",", ":"))
    if not isinstance(value, dict | list) or len(line) <= LINE_MAX or isinstance(value, dict) and "name" in value:
        return line
    inner = indent + " "
    if isinstance(value, list):
        return "[\n" + ",\n".join(to_text(item, indent) for item in value) + "]"
    return "{\n" + ",\n".join(f"{inner}{json.dumps(key)}:{to_text(item, inner)}" for key, item in value.items()) + "\n" + indent + "}"
