"""Draws one panel of a dashboard with matplotlib: the same data as in Grafana, but not the same look."""

import collections
import math
import re

from matplotlib.transforms import ScaledTranslation

INK, PALE, GRID = "#24292e", "#7b8087", "#e4e7eb"
COLORS = {"green": "#56a64b", "yellow": "#e0b400", "orange": "#ff780a", "red": "#e02f44", "blue": "#3274d9", "text": "#b7bcc2"}
CYCLE = ["#3274d9", "#56a64b", "#ff780a", "#e02f44", "#a352cc", "#0fa3a3", "#e0b400", "#8f3bb8", "#7b8087", "#c4162a"]
LEGENDS_MAX = 6
ROWS_MAX = 9

Series = collections.namedtuple("Series", "name labels points dashed")  # points: (seconds since 1970, value)


def formatted(value, unit):
    """Returns the value with its unit as a short text."""
    if value is None or math.isnan(value):
        return "–"
    if unit == "s":
        if abs(value) >= 90:
            return f"{value / 60:.3g} min"
        return f"{value:.3g} s" if abs(value) >= 1 else f"{value * 1000:.3g} ms"
    if unit == "percentunit":
        return f"{100 * value:.3g} %"
    if unit == "bytes":
        return f"{value / 2**20:.3g} MiB" if value >= 2**20 else f"{value / 2**10:.0f} KiB"
    return f"{value:.4g}" + {"reqps": " req/s", "ops": " /s", "cores": " cores"}.get(unit, "")


def unit_of(panel):
    return panel["fieldConfig"]["defaults"]["unit"]


def color_of(panel, value):
    color = "green"
    for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]:
        if step["value"] is not None and value >= step["value"]:
            color = step["color"]
    return COLORS[color]


def series_name(legend, labels):
    """Returns the legend with each {{label}} replaced by its value, as Grafana does."""
    if legend == "__auto":
        return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()) if name != "__name__") or "value"
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: labels.get(found[1], ""), legend)


def is_dashed(panel, name):
    return any(override["matcher"]["id"] == "byRegexp" and re.search(override["matcher"]["options"], name)
               for override in panel["fieldConfig"]["overrides"])


def draw(axes, panel, answers):
    """`answers`: for each query, (labels, points) of its series. In tables, the only point of a series is the newest value."""
    axes.set_title(panel["title"], loc="left", fontsize=8, color=INK, fontweight="bold", pad=5)
    axes.tick_params(labelsize=6, colors=PALE, length=2)
    for spine in axes.spines.values():
        spine.set_color(GRID)
    {"timeseries": draw_lines, "stat": draw_number, "table": draw_table, "state-timeline": draw_states, "bargauge": draw_bars,
     "heatmap": draw_heat}[panel["type"]](axes, panel, answers)


def flat(panel, answers):
    """Returns the series of all queries of the panel, with their names in the legend."""
    named = [(series_name(target["legendFormat"], labels), labels, points)
             for target, answer in zip(panel["targets"], answers) for labels, points in answer]
    return [Series(name, labels, points, is_dashed(panel, name)) for name, labels, points in named]


def draw_lines(axes, panel, answers):
    series = sorted(flat(panel, answers), key=lambda it: (it.dashed, -max((value for _, value in it.points if value == value), default=0)))
    stacked = panel["fieldConfig"]["defaults"]["custom"]["stacking"]["mode"] == "normal"
    axes.grid(color=GRID, linewidth=0.6)
    below = collections.Counter()
    for place, each in enumerate(series):
        color = CYCLE[place % len(CYCLE)]
        times = [at for at, _ in each.points]
        if stacked:
            lower = [below[at] for at in times]
            below.update(dict(each.points))
            axes.fill_between(times, lower, [below[at] for at in times], color=color, alpha=0.55, linewidth=0, label=each.name)
        else:
            times, values = with_gaps(each.points)
            axes.plot(times, values, color=color, linewidth=1, linestyle=(0, (5, 4)) if each.dashed else "-", label=each.name)
    unit = unit_of(panel)
    axes.yaxis.set_major_formatter(lambda value, _: formatted(value, unit))
    defaults = panel["fieldConfig"]["defaults"]
    if defaults.get("min") == 0:
        axes.set_ylim(0, max(axes.get_ylim()[1], defaults["custom"].get("axisSoftMax", 0)))
    for step in defaults["thresholds"]["steps"][1:]:
        axes.axhline(step["value"], color=COLORS[step["color"]], linewidth=0.8, linestyle=":")
    put_legend(axes, len(series))


def with_gaps(points, gap_s=3):
    """Returns the times and values of a line, with NaN where the data has a gap."""
    times, values = [], []
    for at, value in points:
        if times and at - times[-1] > gap_s:
            times.append(at - 1)
            values.append(math.nan)
        times.append(at)
        values.append(value)
    return times, values


def put_legend(axes, count):
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color=PALE, fontsize=8)
        return
    shown = labels[:LEGENDS_MAX - (count > LEGENDS_MAX)]
    more = [f"and {count - len(shown)} more"] if count > len(shown) else []
    handles = handles[:len(shown)] + [axes.plot([], [], alpha=0)[0] for _ in more]
    legend(axes, handles, shown + more, columns=2)


def legend(axes, handles, texts, columns):
    """Puts the legend below the labels of the axis, at the same distance for panels of any height."""
    below = axes.transAxes + ScaledTranslation(-6 / 72, -15 / 72, axes.figure.dpi_scale_trans)
    axes.legend(handles, [text if len(text) < 58 else text[:56] + "…" for text in texts], fontsize=5.6, ncol=columns, frameon=False,
                labelcolor=INK, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, handlelength=1.4, columnspacing=1.2,
                borderpad=0, labelspacing=0.25)


def draw_number(axes, panel, answers):
    axes.axis("off")
    [answer] = answers
    if not answer:
        axes.text(0.5, 0.4, "no data", transform=axes.transAxes, ha="center", va="center", fontsize=10, color=PALE)
        return
    points = max(answer, key=lambda series: series[1][-1][1])[1]
    last = points[-1][1]
    times, values = with_gaps(points)
    axes.fill_between(times, values, color=color_of(panel, last), alpha=0.15, linewidth=0)
    axes.set_ylim(0, 2.6 * max([value for value in values if value == value] + [1e-9]))
    decimals = panel["fieldConfig"]["defaults"].get("decimals")
    text = formatted(last if decimals is None else round(last, decimals), unit_of(panel))
    axes.text(0.5, 0.58, text, transform=axes.transAxes, ha="center", va="center", fontsize=15,
              color=color_of(panel, last), fontweight="bold")


def draw_table(axes, panel, answers):
    axes.axis("off")
    columns = next(it["options"]["renameByName"] for it in panel["transformations"] if it["id"] == "organize")
    rows = merged(panel, answers)
    cells = [[cell_text(row.get(field)) for field in columns] for row in rows[:ROWS_MAX]]
    if not cells:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color=PALE, fontsize=8)
        return
    table = axes.table(cellText=cells, colLabels=list(columns.values()), loc="upper left", cellLoc="left", colLoc="left", edges="horizontal")
    table.auto_set_font_size(False)
    table.set_fontsize(7)
    table.scale(1, 1.15)
    for (row, _), cell in table.get_celld().items():
        cell.set_edgecolor(GRID)
        cell.get_text().set_color(COLORS["blue"] if row == 0 else INK)


def merged(panel, answers):
    """Merges rows of different queries whose common labels are equal, as Grafana's "merge" does."""
    rows = []
    for number, answer in enumerate(answers):
        value = "Value" if len(answers) == 1 else f"Value #{chr(ord('A') + number)}"
        for labels, points in answer:
            new = {**labels, value: points[-1][1]}
            for row in rows:
                shared = set(row) & set(new)
                if shared and value not in row and all(row[name] == new[name] for name in shared):
                    row.update(new)
                    break
            else:
                rows.append(new)
    return sorted(rows, key=lambda row: (row.get("namespace", ""), row.get("name", "")))


def cell_text(value):
    return f"{value:g}" if isinstance(value, float) else value or ""


def draw_states(axes, panel, answers):
    [mapping] = panel["fieldConfig"]["defaults"]["mappings"]
    seen, series = {}, flat(panel, answers)
    for place, each in enumerate(series):
        for begin, end, value in spans(each.points):
            state = mapping["options"].get(f"{value:g}", {"text": "?", "color": "text"})
            seen[state["text"]] = COLORS[state["color"]]
            axes.broken_barh([(begin, end - begin)], (place - 0.38, 0.76), color=COLORS[state["color"]], alpha=0.8)
    axes.set_yticks(range(len(series)), [it.name for it in series])
    axes.set_ylim(len(series) - 0.4, -0.6)
    for text, color in seen.items():
        axes.plot([], [], color=color, linewidth=5, label=text)
    legend(axes, *axes.get_legend_handles_labels(), columns=8)


def spans(points, gap_s=3):
    """Returns (from, until, value) of each period with a constant value."""
    found = []
    for at, value in points:
        if found and found[-1][2] == value and at - found[-1][1] <= gap_s:
            found[-1][1] = at
        else:
            if found and at - found[-1][1] <= gap_s:
                found[-1][1] = at
            found.append([at, at + 1, value])
    return found


def draw_bars(axes, panel, answers):
    series = sorted(flat(panel, answers), key=lambda it: it.points[-1][1])
    values = [it.points[-1][1] for it in series]
    axes.barh([it.name for it in series], values, color=[color_of(panel, value) for value in values], height=0.6)
    axes.xaxis.set_major_formatter(lambda value, _: formatted(value, unit_of(panel)))
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def draw_heat(axes, panel, answers):
    [answer] = answers
    buckets = sorted(((float(labels["le"]), dict(points)) for labels, points in answer), key=lambda bucket: bucket[0])
    times = sorted({at for _, points in buckets for at in points})
    cells = [[max(0, points.get(at, 0) - below.get(at, 0)) for at in times]
             for (_, points), (_, below) in zip(buckets, [(0, {}), *buckets])]
    filled = [place for place, row in enumerate(cells) if any(row)]
    low, high = min(filled), max(filled) + 1
    axes.pcolormesh(times, range(high - low), [[value or math.nan for value in row] for row in cells[low:high]], cmap="Blues",
                    shading="nearest", rasterized=True)
    axes.set_yticks(range(high - low), [formatted(bound, "s") if math.isfinite(bound) else "more" for bound, _ in buckets[low:high]])
