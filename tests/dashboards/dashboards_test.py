"""The dashboards and rules as files: that they are whole, and that what is made of them is what is there."""

import re
import subprocess
import sys

import pytest

from asked import DASHBOARDS, PANELS, ROOT, read_moves
from prometheus import find_prometheus
from scene import FAULTS, RULES, Scene

sys.path.insert(0, str(ROOT / "deploy/grafana"))

from generate import files

MOVES = read_moves()
RULES_TEXT = RULES.read_text()
ALERTS = re.findall(r"^  - alert: (\w+)$", RULES_TEXT, re.M)
RUNBOOK = (ROOT / "docs/monitoring.md").read_text()


def promtool(*words):
    if find_prometheus() is None:
        pytest.skip("LONGSHORE_PROMETHEUS names no Prometheus")
    done = subprocess.run([re.sub("prometheus$", "promtool", find_prometheus()), *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_generated_is_up_to_date(path):
    """To make it so: python3 deploy/grafana/generate.py."""
    assert path.read_text() == files()[path]


@pytest.mark.parametrize("folder", ["deploy/grafana", "helm/longshore/dashboards"])
def test_there_is_no_other_dashboard(folder):
    there = set((ROOT / folder).glob("*.json"))
    assert there == {path for path in files() if path.parent == ROOT / folder and path.suffix == ".json"}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_can_be_found_and_leads_to_the_others(name):
    of = DASHBOARDS[name]
    assert re.fullmatch(r"longshore-[a-z]+", of["uid"])
    assert of["tags"] == ["longshore"] and of["links"][0]["tags"] == of["tags"]
    assert of["description"]
    ids = [panel["id"] for panel in of["panels"]]
    assert len(ids) == len(set(ids))


def test_no_two_have_one_uid():
    assert len({of["uid"] for of in DASHBOARDS.values()}) == len(DASHBOARDS)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_lie_beside_each_other(name):
    taken = set()
    for panel in DASHBOARDS[name]["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("name", PANELS)
def test_a_panel_says_what_it_shows_and_in_which_unit(name):
    panel = PANELS[name]
    assert len(panel["description"]) > 10
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"]["uid"] == "${datasource}"
    for target in panel["targets"]:
        assert target["datasource"]["uid"] == "${datasource}"
        one = panel["type"] in ("stat", "table") or not re.search(r"by \((?!le\))", target["expr"])
        assert one or "{{" in target["legendFormat"], "lines that nobody can tell apart"


@pytest.mark.parametrize("text", [RULES_TEXT, *(target["expr"] for panel in PANELS.values() for target in panel["targets"])])
def test_nothing_stands_for_data_that_is_missing(text):
    assert not re.search(r"\bvector\s*\(|\bor\s+(on\s*\([^)]*\)\s*)?\(?\s*[0-9]", text)


def test_every_panel_and_alert_has_a_fault():
    named = [move.get("panel") or move["alert"] for move in MOVES]
    assert sorted(named) == sorted([*PANELS, *ALERTS])
    assert {move["fault"] for move in MOVES} | {"busy_cluster"} == set(FAULTS)
    assert all(callable(getattr(Scene, name)) for name in FAULTS)


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_has_a_runbook(alert):
    rule = RULES_TEXT.partition(f"- alert: {alert}\n")[2].partition("- alert:")[0]
    assert f"runbook_url: docs/monitoring.md#{alert.lower()}\n" in rule
    assert re.search(r"labels: \{severity: (critical|warning|info)\}", rule)
    section = RUNBOOK.partition(f"\n### {alert}\n")[2].partition("\n### ")[0]
    assert len(section) > 200, f"docs/monitoring.md says nothing of {alert}"


def test_no_runbook_is_of_an_alert_that_is_gone():
    assert sorted(re.findall(r"^### (Longshore\w+)$", RUNBOOK, re.M)) == sorted(ALERTS)


def test_the_documentation_shows_every_dashboard():
    for of in DASHBOARDS.values():
        assert f"(pictures/{of['uid']}.png)" in RUNBOOK
        assert (ROOT / f"docs/pictures/{of['uid']}.png").stat().st_size < 300_000


def test_prometheus_takes_the_rules():
    promtool("check", "rules", RULES)


def test_alerts_fire_when_they_should_and_not_otherwise():
    promtool("test", "rules", ROOT / "tests/dashboards/rules_test.yaml")


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not():
    cases = (ROOT / "tests/dashboards/rules_test.yaml").read_text()
    for alert in ALERTS:
        [*expected] = re.findall(rf"alertname: {alert}\n(?:.*\n)*?\s+exp_alerts:(.*)", cases)
        assert any(each.strip() == "[]" for each in expected) and any(each.strip() != "[]" for each in expected), alert
