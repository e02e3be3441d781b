"""The pages of docs/reference, one for each kind, from the schemas in crds/. `./dev reference` writes them."""

import pathlib
import sys

import yaml

from findings import Finding

_FOLDER = "docs/reference"


def _shown(value):
    return f"`{value}`" if isinstance(value, str) else f"`{yaml.safe_dump(value, default_flow_style=True).splitlines()[0]}`"


def _type(schema):
    """The type of a value as users write it: text, number, list of objects."""
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    kind = schema.get("type", "string or number")
    if kind == "array":
        return f"list of {_type(schema['items'])}s"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map of {_type(schema['additionalProperties'])}s"
    return kind


def _rules(schema, required):
    """What a value must be, in the order in which a reader needs it."""
    if required:
        yield "required"
    if "default" in schema:
        yield f"default {_shown(schema['default'])}"
    if "enum" in schema:
        yield "one of " + ", ".join(_shown(value) for value in schema["enum"])
    limits = schema.get("items", schema)
    if "minimum" in limits and "maximum" in limits:
        yield f"{limits['minimum']} to {limits['maximum']}"
    elif "minimum" in limits:
        yield f"at least {limits['minimum']}"
    elif "maximum" in limits:
        yield f"at most {limits['maximum']}"
    for key, unit in (("maxLength", "characters"), ("maxItems", "items"), ("maxProperties", "entries")):
        if key in schema:
            yield f"at most {schema[key]} {unit}"


def _rejection(schema):
    """A sentence with the messages of the field's validation rules, each once; "" if there are none."""
    messages = dict.fromkeys(rule["message"] for rule in schema.get("x-kubernetes-validations", []) if "message" in rule)
    quoted = " or ".join(f'"{message}"' for message in messages)
    return f" Rejected with {quoted} if this is violated." if quoted else ""


def _fields(schema, path):
    """Yields (path, schema, whether it is required) for each field, parents first."""
    required = set(schema.get("required", []))
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here, field, name in required
        inner = field.get("items", field)
        if inner.get("type") == "object":
            yield from _fields(inner, here + ("[]" if "items" in field else ""))


def _cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def table(schema):
    """The lines of the table of a schema's fields."""
    yield "| field | type | rules | meaning |"
    yield "|---|---|---|---|"
    for path, field, required in _fields(schema, ""):
        rules = _cell("; ".join(_rules(field, required)))
        yield f"| `{path}` | {_type(field)} | {rules} | {_cell(field.get('description', '') + _rejection(field))} |"


def page(definition):
    """The Markdown page of a CustomResourceDefinition."""
    names, group = definition["spec"]["names"], definition["spec"]["group"]
    [version] = definition["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    properties = schema["properties"]
    lines = [
        f"# {names['kind']}",
        "",
        f"<!-- Written by ./dev reference from crds/{names['plural']}.yaml. -->",
        "",
        schema["description"],
        "",
        f"`apiVersion: {group}/{version['name']}`, `kind: {names['kind']}`; with `kubectl`: `{names['plural']}` or "
        + ", ".join(f"`{name}`" for name in names.get("shortNames", []))
        + ".",
    ]
    for part, title in (("spec", "Spec"), ("status", "Status")):
        lines += ["", f"## {title}", "", properties[part].get("description", ""), "", *table(properties[part])]
    columns = [column for column in version.get("additionalPrinterColumns", []) if "description" in column]
    lines += ["", "## Columns of kubectl get", "", "| column | meaning |", "|---|---|"]
    lines += [
        f"| {column['name']}{' (with `-o wide`)' if column.get('priority') else ''} | {_cell(column['description'])} |"
        for column in columns
    ]
    return "\n".join(lines) + "\n"


def pages(root):
    """Path below the root -> text, for each kind."""
    made = {}
    for path in sorted((root / "crds").glob("*.yaml")):
        definition = yaml.safe_load(path.read_text(encoding="utf-8"))
        made[f"{_FOLDER}/{path.stem}.md"] = page(definition)
    return made


def check(root):
    """The pages are what the schemas make."""
    for path, text in pages(root).items():
        file = root / path
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            yield Finding(path, 0, "the page differs from the schema in crds/", "run ./dev reference")


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    for path, text in pages(root).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
