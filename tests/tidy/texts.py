"""The texts for users outside of the C++ sources: descriptions of kinds, comments of the chart's values, alerts and dashboards."""

import dataclasses
import json

import yaml

from sources import Text

VALUES = "helm/longshore/values.yaml"
RULES = "deploy/prometheus/rules.yaml"


@dataclasses.dataclass(frozen=True)
class Page:
    """A file that is no source, with its texts."""

    path: str
    texts: list


def _scalars(content, name):
    """The texts of all keys with this name in a YAML document, each with its line."""
    pending = [yaml.compose(content)]
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.SequenceNode):
            pending.extend(node.value)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == name and isinstance(value, yaml.ScalarNode):
                    yield Text(key.start_mark.line + 1, " ".join(value.value.split()))
                pending.append(value)


def descriptions(root, paths):
    """The descriptions of the fields of the kinds."""
    for path in paths:
        if path.startswith("crds/") and path.endswith(".yaml"):
            yield Page(path, list(_scalars((root / path).read_text(encoding="utf-8"), "description")))


def value_comments(root, paths):
    """The comments of the chart's values: adjacent lines are one."""
    if VALUES not in paths:
        return
    blocks = []
    end = -1
    for number, line in enumerate((root / VALUES).read_text(encoding="utf-8").split("\n"), 1):
        if not line.lstrip().startswith("#"):
            continue
        text = line.lstrip("# ").strip()
        if number == end + 1:
            blocks[-1] = Text(blocks[-1].line, f"{blocks[-1].text} {text}")
        else:
            blocks.append(Text(number, text))
        end = number
    yield Page(VALUES, blocks)


def alerts(root, paths):
    """The summaries and descriptions of the alerts."""
    if RULES in paths:
        content = (root / RULES).read_text(encoding="utf-8")
        yield Page(RULES, [*_scalars(content, "summary"), *_scalars(content, "description")])


def dashboards(root, paths):
    """The titles and descriptions of the dashboards and their panels. A text has the line of its first occurrence."""
    for path in paths:
        if not (path.startswith("deploy/grafana/") and path.endswith(".json")):
            continue
        content = (root / path).read_text(encoding="utf-8")
        found = []
        pending = [json.loads(content)]
        while pending:
            node = pending.pop()
            if isinstance(node, dict):
                found.extend(node[key] for key in ("title", "description") if isinstance(node.get(key), str))
            pending.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
        lines = [(content.count("\n", 0, content.index(json.dumps(text, ensure_ascii=False))) + 1, text) for text in dict.fromkeys(found)]
        yield Page(path, [Text(line, text) for line, text in lines])
