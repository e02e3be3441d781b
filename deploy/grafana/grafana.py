"""Builds Grafana's dashboard JSON. Properties that all panels share are defined here."""

SCHEMA_VERSION = 41
COLUMNS = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
GREEN, YELLOW, ORANGE, RED, BLUE, GRAY = "green", "yellow", "orange", "red", "blue", "text"


def query(expr, legend="", table=False):
    """`table`: returns only the newest values, one row each."""
    return {"expr": expr, "legend": legend, "table": table}


def panel(kind, title, description, queries, unit="short", size=(12, 8), thresholds=(), minimum=None, maximum=None,
          decimals=None, mappings=None, custom=None, options=None, overrides=(), transformations=()):
    """`thresholds`: (from, color) in rising order; values below the first are green. `mappings`: value -> (text, color)."""
    steps = [{"color": GREEN, "value": None}] + [{"color": color, "value": value} for value, color in thresholds]
    defaults = {"unit": unit, "custom": custom or {}, "thresholds": {"mode": "absolute", "steps": steps},
                "color": {"mode": "thresholds" if kind in ("stat", "bargauge") else "palette-classic"}}
    if decimals is not None:
        defaults["decimals"] = decimals
    if minimum is not None:
        defaults["min"] = minimum
    if maximum is not None:
        defaults["max"] = maximum
    if mappings:
        defaults["mappings"] = [{"type": "value", "options": {
            str(value): {"text": text, "color": color, "index": index}
            for index, (value, (text, color)) in enumerate(mappings.items())}}]
    return {"type": kind, "title": title, "description": description, "size": size, "queries": queries,
            "fieldConfig": {"defaults": defaults, "overrides": list(overrides)}, "options": options or {},
            "transformations": list(transformations)}


def lines(title, description, queries, unit="short", minimum=0, stack=False, dashed=(), up_to=None, **more):
    """Values over time. `dashed`: regular expressions for the legends of limits and targets. `up_to`: the minimum upper end of
    the axis."""
    custom = {"lineWidth": 1, "fillOpacity": 30 if stack else 5, "showPoints": "never", "spanNulls": False,
              "stacking": {"mode": "normal" if stack else "none", "group": "A"}}
    if up_to is not None:
        custom["axisSoftMax"] = up_to
    if more.get("thresholds"):
        custom["thresholdsStyle"] = {"mode": "line"}
    overrides = [{"matcher": {"id": "byRegexp", "options": pattern},
                  "properties": [{"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 8]}},
                                 {"id": "custom.fillOpacity", "value": 0},
                                 {"id": "custom.stacking", "value": {"mode": "none", "group": "A"}}]}
                 for pattern in dashed]
    options = {"legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
               "tooltip": {"mode": "multi", "sort": "desc"}}
    return panel("timeseries", title, description, queries, unit, minimum=minimum, custom=custom, options=options,
                 overrides=overrides, **more)


def number(title, description, expr, unit="short", **more):
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}, "colorMode": "value",
               "graphMode": "area", "textMode": "auto"}
    return panel("stat", title, description, [query(expr)], unit, size=(4, 4), options=options, **more)


def bars(title, description, expr, legend, unit="short", **more):
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
               "orientation": "horizontal", "displayMode": "basic"}
    return panel("bargauge", title, description, [query(expr, legend)], unit, options=options, **more)


def states(title, description, queries, mappings, **more):
    """The state of each row over time."""
    options = {"showValue": "auto", "mergeValues": True, "alignValue": "left",
               "legend": {"displayMode": "list", "placement": "bottom"}}
    return panel("state-timeline", title, description, queries, mappings=mappings, options=options,
                 custom={"fillOpacity": 70, "lineWidth": 0}, **more)


def heat(title, description, expr, unit="s", **more):
    """A heat map of a histogram's buckets."""
    made = panel("heatmap", title, description, [query(expr, "{{le}}")], unit,
                 options={"calculate": False, "yAxis": {"unit": unit}, "cellGap": 0,
                          "color": {"mode": "scheme", "scheme": "Blues", "steps": 64}, "tooltip": {"mode": "single"}}, **more)
    made["heatmap"] = True
    return made


def rows(title, description, queries, columns, units=None, **more):
    """A table with one row for each set of labels. `columns`: field -> its title, in order; other fields are hidden."""
    order = {field: index for index, field in enumerate(columns)}
    overrides = [{"matcher": {"id": "byName", "options": columns[field]}, "properties": [{"id": "unit", "value": unit}]}
                 for field, unit in (units or {}).items()]
    return panel("table", title, description, queries, overrides=overrides, options={"showHeader": True},
                 transformations=[
                     {"id": "merge", "options": {}},
                     {"id": "filterFieldsByName", "options": {"include": {"names": list(columns)}}},
                     {"id": "organize", "options": {"indexByName": order, "renameByName": columns}}], **more)


def target(panel_query, index, heatmap):
    return {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": panel_query["expr"], "legendFormat": panel_query["legend"] or "__auto",
            "range": not panel_query["table"], "instant": panel_query["table"], "editorMode": "code",
            "format": "table" if panel_query["table"] else "heatmap" if heatmap else "time_series"}


def placed(sections):
    """Panels with their positions: a row's title, then its panels from left to right."""
    made, x, y, height = [], 0, 0, 0
    for title, panels in sections:
        y, x, height = y + height, 0, 0
        made.append({"type": "row", "title": title, "collapsed": False, "panels": [], "id": len(made) + 1,
                     "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}})
        y += 1
        for section_panel in panels:
            width, its_height = section_panel["size"]
            if x + width > COLUMNS:
                x, y, height = 0, y + height, 0
            queries = [target(each, index, section_panel.get("heatmap")) for index, each in enumerate(section_panel["queries"])]
            made.append({"id": len(made) + 1, "gridPos": {"x": x, "y": y, "w": width, "h": its_height}, "datasource": SOURCE,
                         "targets": queries, **{name: section_panel[name] for name in (
                             "type", "title", "description", "fieldConfig", "options", "transformations")}})
            x, height = x + width, max(height, its_height)
    return made


def variable(name, label, series, values_of):
    """A variable whose choices are the values of the label `values_of`."""
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE, "multi": True, "includeAll": True,
            "allValue": ".*", "current": {"text": ["All"], "value": ["$__all"]}, "refresh": 2, "sort": 1,
            "definition": f"label_values({series}, {values_of})",
            "query": {"query": f"label_values({series}, {values_of})", "refId": "Prometheus"}}


def dashboard(uid, title, description, sections, variables=()):
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "hide": 0,
              "current": {}, "refresh": 1, "regex": ""}
    link = {"type": "dashboards", "title": "Longshore", "tags": ["longshore"], "asDropdown": False, "includeVars": True,
            "keepTime": True, "targetBlank": False, "icon": "external link"}
    return {"uid": uid, "title": f"Longshore / {title}", "description": description, "tags": ["longshore"],
            "schemaVersion": SCHEMA_VERSION, "version": 1, "editable": True, "graphTooltip": 1, "timezone": "browser",
            "time": {"from": "now-1h", "to": "now"}, "refresh": "30s", "links": [link],
            "annotations": {"list": []}, "templating": {"list": [source, *variables]}, "panels": placed(sections)}
