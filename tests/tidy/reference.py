"""The pages of docs/reference, one for each kind, from the schemas in crds/. `./dev reference` writes them."""

import pathlib
import sys

import yaml

from findings import Finding

_FOLDER = "docs/reference"


def _shown(value):
    text = value if isinstance(value, str) else yaml.safe_dump(value, default_flow_style=True).splitlines()[0]
    return f"`` {text} ``" if "`" in text else f"`{text}`"


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
    if "items" in schema:
        yield from (f"each item {rule}" for rule in _limits(schema["items"]))
    elif isinstance(schema.get("additionalProperties"), dict):
        yield from (f"each value {rule}" for rule in _limits(schema["additionalProperties"]))
    yield from _limits(schema)


def _limits(schema):
    """The limits of a value: of a number, of a length or a count, and the pattern of a text."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None and not above and not below:
        yield f"{low} to {high}"
    else:
        if low is not None:
            yield f"more than {low}" if above else f"at least {low}"
        if high is not None:
            yield f"less than {high}" if below else f"at most {high}"
    for kind, unit in (("Length", "characters"), ("Items", "items"), ("Properties", "entries")):
        least, most = schema.get(f"min{kind}"), schema.get(f"max{kind}")
        if least is not None and most is not None:
            yield f"{least} to {most} {unit}"
        elif least is not None:
            yield f"at least {least} {unit}"
        elif most is not None:
            yield f"at most {most} {unit}"
    if "pattern" in schema:
        yield f"matches {_shown(schema['pattern'])}"


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
    made = pages(root)
    for file in sorted((root / _FOLDER).glob("*")):
        path = f"{_FOLDER}/{file.name}"
        if path not in made:
            yield Finding(path, 0, "no kind makes this page", "remove it")


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    for path, text in pages(root).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
