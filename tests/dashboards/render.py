#!/usr/bin/env python3
"""Draws the pictures of docs/monitoring.md: each dashboard's own queries, asked of a real Prometheus after a real run in which
faults are done one after the other. Grafana is not needed, matplotlib is:

    python3 -m venv VENV && VENV/bin/pip install --require-hashes -r tests/dashboards/requirements.txt
    LONGSHORE_PROMETHEUS=... LONGSHORE_KUBERNETES=... VENV/bin/python tests/dashboards/render.py
"""

import datetime
import io
import threading
import time

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.patches import Rectangle
from PIL import Image

from scene import FAULTS, RATE_INTERVAL_S, Scene  # First: it says where the others are.

from asked import DASHBOARDS, ROOT, filled_in
from drawing import GRID, INK, draw
from prometheus import find_prometheus

PICTURES = ROOT / "docs/pictures"
EACH_S = 6  # How long a fault lasts, and the quiet after it.
LEFT_OUT = {"no_controller"}  # After it there is nothing to see.
WIDTH_INCHES, UNIT_INCHES, DPI = 15, 0.33, 86


class Asked:
    """Asks over the time of the run."""

    def __init__(self, prometheus, began, ended):
        self.prometheus, self.began, self.ended = prometheus, began, ended

    def of(self, panel):
        return [self.series(target) for target in panel["targets"]]

    def series(self, target):
        """(labels, points) of each series; of a table the newest values."""
        expr = filled_in(target["expr"], RATE_INTERVAL_S, int(self.ended - self.began))
        if target["instant"]:
            answer = self.prometheus.ask("query", query=expr, time=self.ended)["result"]
            return [(of["metric"], [point(of["value"])]) for of in answer]
        answer = self.prometheus.ask("query_range", query=expr, start=self.began, end=self.ended, step=1)["result"]
        return [(of["metric"], [point(each) for each in of["values"]]) for of in answer]


def point(pair):
    return float(pair[0]), float(pair[1])


def run(scene):
    """Begin and end of the run, in seconds since 1970."""
    pause = threading.Event()
    began = time.time()
    for name in FAULTS:
        if name in LEFT_OUT:
            continue
        print(name, flush=True)
        with getattr(scene, name)():
            pause.wait(EACH_S)
        pause.wait(EACH_S / 2)
    return began, time.time()


def place(figure, panel, height):
    """Axes within the panel's frame, which leaves room for title, labels and legend."""
    grid = panel["gridPos"]
    x, y, w, h = grid["x"] / 24, 1 - (grid["y"] + grid["h"]) / height, grid["w"] / 24, grid["h"] / height
    gap_x, gap_y = 0.003, 0.12 / height
    figure.add_artist(Rectangle((x + gap_x, y + gap_y), w - 2 * gap_x, h - 2 * gap_y, facecolor="white", edgecolor=GRID, linewidth=0.8,
                                transform=figure.transFigure, zorder=-1))
    left, right, top, bottom = margins(panel)
    return figure.add_axes([x + left / 24, y + bottom / height, w - (left + right) / 24, h - (top + bottom) / height])


def margins(panel):
    """In units of the grid."""
    if panel["type"] in ("stat", "table"):
        return 0.3, 0.3, 1.2, 0.3
    wide = {"state-timeline": 2.4, "bargauge": 3.4}.get(panel["type"], 1.3)
    return wide, 0.4, 1.1, 1.0 if panel["type"] in ("bargauge", "heatmap") else 2.4


def picture(dashboard, asked):
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"])
    figure = pyplot.figure(figsize=(WIDTH_INCHES, height * UNIT_INCHES), facecolor="#f4f5f5")
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            figure.text(0.005, 1 - (panel["gridPos"]["y"] + 0.7) / height, panel["title"], fontsize=10, color=INK)
            continue
        axes = place(figure, panel, height)
        draw(axes, panel, asked.of(panel))
        if panel["type"] in ("timeseries", "state-timeline", "heatmap", "stat"):
            axes.set_xlim(asked.began, asked.ended)
            axes.xaxis.set_major_formatter(lambda at, _: datetime.datetime.fromtimestamp(at).strftime("%H:%M:%S"))
            axes.xaxis.set_major_locator(pyplot.MaxNLocator(5))
    return figure


def save(figure, path):
    """With few colors, among them the rare ones, so that it is small."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DPI, facecolor=figure.get_facecolor())
    pyplot.close(figure)
    Image.open(drawn).convert("RGB").quantize(method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
    print(path.relative_to(ROOT), path.stat().st_size // 1000, "kB")


def main():
    PICTURES.mkdir(exist_ok=True)
    with Scene(find_prometheus()) as scene:
        asked = Asked(scene.prometheus, *run(scene))
        for dashboard in DASHBOARDS.values():
            save(picture(dashboard, asked), PICTURES / f"{dashboard['uid']}.png")


if __name__ == "__main__":
    main()
