#!/usr/bin/env python3
"""Draws the pictures of docs/monitoring.md and of the README from the queries of the dashboards. A real Prometheus answers them after
a real run: for docs/monitoring.md with one fault after the other, for the README with a promotion and a rollback. Each picture
contains the digest of what it shows, so that dashboards_test.py finds pictures of older dashboards. Needs matplotlib, but not Grafana:

    python3 -m venv VENV && VENV/bin/pip install --require-hashes -r tests/dashboards/requirements.txt
    LONGSHORE_PROMETHEUS=... LONGSHORE_KUBERNETES=... VENV/bin/python tests/dashboards/render.py [dashboards | readme]
"""

import argparse
import datetime
import io
import threading
import time

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.patches import Rectangle
from PIL import Image, ImageColor, PngImagePlugin

from scene import FAULTS, RATE_INTERVAL_S, Scene  # Must be first: it adds the folders of the other modules to sys.path.

import story
from asked import DASHBOARDS, PICTURES, README_PANELS, README_PICTURE, ROOT, digest, filled_in
from drawing import GRID, INK, draw
from prometheus import find_prometheus

EACH_S = 6  # The duration of a fault. The pause after it is half as long.
LEFT_OUT = {"no_controller"}  # Without a controller, later data would be missing.
WIDTH_INCHES, UNIT_INCHES, DPI = 15, 0.33, 86
BACKGROUND = "#f4f5f5"
README_INCHES, README_UNITS, README_DPI = (8, 4), 20, 150


class Answers:
    """Runs the queries of panels over the time of the run."""

    def __init__(self, prometheus, began, ended):
        self.prometheus, self.began, self.ended = prometheus, began, ended

    def of(self, panel):
        return [self.series(target) for target in panel["targets"]]

    def series(self, target):
        """Returns (labels, points) of each series. For tables, the only point is the newest value."""
        expr = filled_in(target["expr"], RATE_INTERVAL_S, int(self.ended - self.began))
        if target["instant"]:
            answer = self.prometheus.ask("query", query=expr, time=self.ended)["result"]
            return [(series["metric"], [point(series["value"])]) for series in answer]
        answer = self.prometheus.ask("query_range", query=expr, start=self.began, end=self.ended, step=1)["result"]
        return [(series["metric"], [point(each) for each in series["values"]]) for series in answer]


def point(pair):
    return float(pair[0]), float(pair[1])


def run(scene):
    """Runs all faults. Returns the begin and the end, in seconds since 1970."""
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
    """Draws the frame of the panel. Returns axes inside it, with space for title, labels and legend."""
    grid = panel["gridPos"]
    x, y, w, h = grid["x"] / 24, 1 - (grid["y"] + grid["h"]) / height, grid["w"] / 24, grid["h"] / height
    gap_x, gap_y = 0.003, 0.12 / height
    figure.add_artist(Rectangle((x + gap_x, y + gap_y), w - 2 * gap_x, h - 2 * gap_y, facecolor="white", edgecolor=GRID, linewidth=0.8,
                                transform=figure.transFigure, zorder=-1))
    left, right, top, bottom = margins(panel)
    return figure.add_axes([x + left / 24, y + bottom / height, w - (left + right) / 24, h - (top + bottom) / height])


def margins(panel):
    """Returns the left, right, top and bottom margins in units of the grid."""
    if panel["type"] in ("stat", "table"):
        return 0.3, 0.3, 1.2, 0.3
    wide = {"state-timeline": 2.4, "bargauge": 3.4}.get(panel["type"], 1.3)
    return wide, 0.4, 1.1, 1.0 if panel["type"] in ("bargauge", "heatmap") else 2.4


def draw_in_place(figure, panel, height, answers):
    axes = place(figure, panel, height)
    draw(axes, panel, answers.of(panel))
    if panel["type"] in ("timeseries", "state-timeline", "heatmap", "stat"):
        axes.set_xlim(answers.began, answers.ended)
        axes.xaxis.set_major_formatter(lambda at, _: datetime.datetime.fromtimestamp(at).strftime("%H:%M:%S"))
        axes.xaxis.set_major_locator(pyplot.MaxNLocator(5))


def picture(dashboard, answers):
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"])
    figure = pyplot.figure(figsize=(WIDTH_INCHES, height * UNIT_INCHES), facecolor=BACKGROUND)
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            figure.text(0.005, 1 - (panel["gridPos"]["y"] + 0.7) / height, panel["title"], fontsize=10, color=INK)
            continue
        draw_in_place(figure, panel, height, answers)
    return figure


def readme_picture(answers):
    """Two rows of two panels."""
    figure = pyplot.figure(figsize=README_INCHES, facecolor=BACKGROUND)
    for number, panel in enumerate(README_PANELS):
        grid = {"x": 12 * (number % 2), "y": README_UNITS / 2 * (number // 2), "w": 12, "h": README_UNITS / 2}
        draw_in_place(figure, {**panel, "gridPos": grid}, README_UNITS, answers)
    return figure


def with_few_colors(image):
    """Returns the image with a palette. The selection keeps rare colors but tints the background, whose color is therefore set again."""
    image = image.convert("RGB").quantize(method=Image.Quantize.MAXCOVERAGE)
    palette, corner = image.getpalette(), 3 * image.getpixel((0, 0))
    palette[corner:corner + 3] = ImageColor.getrgb(BACKGROUND)
    image.putpalette(palette)
    return image


def save(figure, path, shown, dpi=DPI):
    """Saves the figure with few colors so that the file is small. `shown`: the dashboard or panels."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=dpi, facecolor=figure.get_facecolor())
    pyplot.close(figure)
    texts = PngImagePlugin.PngInfo()
    texts.add_text("shown", digest(shown))
    with_few_colors(Image.open(drawn)).save(path, optimize=True, pnginfo=texts)
    print(path.relative_to(ROOT), path.stat().st_size // 1000, "kB")


def draw_dashboards():
    with Scene(find_prometheus()) as scene:
        answers = Answers(scene.prometheus, *run(scene))
        for dashboard in DASHBOARDS.values():
            save(picture(dashboard, answers), PICTURES / f"{dashboard['uid']}.png", dashboard)


def draw_readme():
    with story.Story(find_prometheus()) as it:
        answers = Answers(it.prometheus, *it.run())
        save(readme_picture(answers), README_PICTURE, README_PANELS, README_DPI)


def main():
    parser = argparse.ArgumentParser(description="Draws the pictures of the documentation.")
    parser.add_argument("which", nargs="?", choices=["dashboards", "readme"], help="only these pictures; default: all")
    which = parser.parse_args().which
    PICTURES.mkdir(exist_ok=True)
    if which != "dashboards":
        draw_readme()
    if which != "readme":
        draw_dashboards()


if __name__ == "__main__":
    main()
