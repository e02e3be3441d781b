#!/usr/bin/env python3
"""Writes the dashboards as JSON for Grafana, here and into the chart, and copies the Prometheus rules into the chart.

    python3 deploy/grafana/generate.py
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import controller
import fleet_engine
import latency
import rollouts
import traffic

CHART = HERE.parents[1] / "helm/longshore"
RULES = HERE.parent / "prometheus/rules.yaml"


def files():
    """Path -> text of all generated files."""
    made = {}
    for module in (latency, traffic, rollouts, fleet_engine, controller):
        text = json.dumps(module.DASHBOARD, indent=1) + "\n"
        name = f"{module.DASHBOARD['uid']}.json"
        made |= {HERE / name: text, CHART / "dashboards" / name: text}
    return made | {CHART / "rules.yaml": RULES.read_text()}


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
