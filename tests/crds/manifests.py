"""Builds manifests from the cases in leaves.yaml and invalid.yaml, which have one case per line, in JSON."""

import copy
import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent
BASE = {"Model": {"fleet": "cpu", "source": {"uri": "file:///models/m"}}, "ServingFleet": {}}


def cases(name):
    lines = (FOLDER / name).read_text().splitlines()
    return [json.loads(line[2:]) for line in lines if line.startswith("- ")]


def manifest(kind, name, fields):
    """The smallest manifest of the kind with these fields, for example {"spec.rollout.steps[0].hold": "5m"}."""
    whole = {"apiVersion": "longshore.dev/v1alpha1", "kind": kind, "metadata": {"name": name},
             "spec": copy.deepcopy(BASE[kind])}
    for path, value in fields.items():
        put(whole, path, value)
    return whole


def put(whole, path, value):
    """Sets the field at a path; removes it if `value` is None."""
    *above, last = path_parts(path)
    for word, following in zip(above, path_parts(path)[1:]):
        whole = child(whole, word, [] if isinstance(following, int) else {})
    if value is None:
        del whole[last]
    else:
        child(whole, last, None)
        whole[last] = copy.deepcopy(value)


def child(whole, word, default):
    if isinstance(whole, list):
        whole.extend(copy.deepcopy(default) for _ in range(word + 1 - len(whole)))
        return whole[word]
    return whole.setdefault(word, default)


def path_parts(path):
    """Splits a path into names and indices. A name in brackets may have dots: "spec.resources.limits[nvidia.com/gpu]"."""
    found = re.findall(r"\[([^\]]+)\]|([^.\[]+)", path)
    return [int(inner) if inner.isdigit() else inner or name for inner, name in found]


def get(whole, path):
    for word in path_parts(path):
        whole = whole[word]
    return whole
