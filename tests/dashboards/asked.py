"""The queries of the dashboards and rules in a form that Prometheus accepts: Grafana's variables are replaced."""

import hashlib
import json
import math
import pathlib
import re
import struct

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DASHBOARDS = {json.loads(path.read_text())["title"].partition(" / ")[2]: json.loads(path.read_text())
              for path in sorted((ROOT / "deploy/grafana").glob("*.json"))}
MOVES_MIN = 1.5  # A value has moved if it has risen or fallen by this factor.


def panels(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


# "Latency / p50" -> the panel.
PANELS = {f"{name} / {panel['title']}": panel for name, dashboard in DASHBOARDS.items() for panel in panels(dashboard)}


# The README shows these panels of the dashboard Rollouts.
PICTURES = ROOT / "docs/pictures"
README_PICTURE = PICTURES / "rollouts-of-a-model.png"
README_PANELS = [PANELS[f"Rollouts / {title}"] for title in (
    "Weights", "Evidence against the candidate", "Run time, candidate and stable", "Phases")]


def digest(value):
    """Identifies what a picture shows: a dashboard or panels."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def texts_of(picture):
    """The texts in a PNG file: keyword -> text of each tEXt chunk."""
    data, at, found = picture.read_bytes(), 8, {}
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"tEXt":
            keyword, _, text = data[at + 8:at + 8 + length].partition(b"\0")
            found[keyword.decode()] = text.decode()
        at += length + 12
    return found


def read_moves():
    """moves.yaml has one case per line, written as JSON."""
    lines = (HERE / "moves.yaml").read_text().splitlines()
    return [json.loads(line[2:]) for line in lines if line.startswith("- ")]


def filled_in(expr, rate_interval_s, range_s):
    """Returns the query as Grafana sends it when all fleets and models are selected."""
    for name, value in (("$__rate_interval", f"{rate_interval_s}s"), ("$__range", f"{range_s}s"), ("$fleet", ".*"), ("$model", ".*")):
        expr = expr.replace(name, value)
    assert "$" not in expr, f"an unknown variable in {expr}"
    return expr


def filled_in_queries(panel, rate_interval_s, range_s):
    return [filled_in(target["expr"], rate_interval_s, range_s) for target in panel["targets"]]


def number(value):
    """Returns the value; None also for NaN, because Grafana shows neither."""
    return None if value is None or math.isnan(value) else value


def has_moved(move, before, after):
    """Returns whether a series that matches the case has moved as expected. `before`, `after`: (query, labels) -> value."""
    by = move.get("by", MOVES_MIN)
    moved = {"appears": lambda old, new: old is None and new is not None,
           "fires": lambda old, new: old is None and new is not None,
           "rises": lambda old, new: new is not None and new > max(by * (old or 0), move.get("above", 0)) + 1e-9,
           "falls": lambda old, new: None not in (old, new) and new < old / by - 1e-9,
           "changes": lambda old, new: None not in (old, new) and abs(new - old) > 1e-9,
           "goes": lambda old, new: old is not None and new is None}[move["moves"]]
    where = set(move.get("where", {}).items())
    keys = [key for key in before.keys() | after.keys() if where <= set(key[1])]
    return any(moved(number(before.get(key)), number(after.get(key))) for key in keys)


def variables(dashboard):
    """Yields the series and the label of each variable that lists the values of a label."""
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield re.fullmatch(r"label_values\((.+), (\w+)\)", variable["definition"]).groups()
