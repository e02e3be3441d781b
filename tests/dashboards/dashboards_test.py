"""The files of the dashboards and rules are consistent, and the generated files are up to date."""

import re
import subprocess
import sys

import pytest

from asked import DASHBOARDS, PANELS, PICTURES, README_PANELS, README_PICTURE, ROOT, digest, read_moves, texts_of
from prometheus import find_prometheus
from scene import FAULTS, RULES, Scene

sys.path.insert(0, str(ROOT / "deploy/grafana"))

from generate import files

MOVES = read_moves()
RULES_TEXT = RULES.read_text()
ALERTS = re.findall(r"^  - alert: (\w+)$", RULES_TEXT, re.M)
RUNBOOK = (ROOT / "docs/monitoring.md").read_text()


def promtool(*arguments):
    if find_prometheus() is None:
        pytest.skip("no Prometheus: LONGSHORE_PROMETHEUS is not set and PATH has none")
    done = subprocess.run([re.sub("prometheus$", "promtool", find_prometheus()), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_generated_files_are_up_to_date(path):
    """If this fails, run python3 deploy/grafana/generate.py."""
    assert path.read_text() == files()[path]


@pytest.mark.parametrize("folder", ["deploy/grafana", "helm/longshore/dashboards"])
def test_the_folder_has_only_generated_dashboards(folder):
    existing = set((ROOT / folder).glob("*.json"))
    assert existing == {path for path in files() if path.parent == ROOT / folder and path.suffix == ".json"}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_has_an_id_a_description_and_links_to_the_others(name):
    dashboard = DASHBOARDS[name]
    assert re.fullmatch(r"longshore-[a-z]+", dashboard["uid"])
    assert dashboard["tags"] == ["longshore"] and dashboard["links"][0]["tags"] == dashboard["tags"]
    assert dashboard["description"]
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))


def test_each_dashboard_has_another_uid():
    assert len({dashboard["uid"] for dashboard in DASHBOARDS.values()}) == len(DASHBOARDS)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_do_not_overlap(name):
    taken = set()
    for panel in DASHBOARDS[name]["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("name", PANELS)
def test_a_panel_has_a_description_a_unit_and_a_data_source(name):
    panel = PANELS[name]
    assert len(panel["description"]) > 10
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"]["uid"] == "${datasource}"
    for target in panel["targets"]:
        assert target["datasource"]["uid"] == "${datasource}"
        is_single = panel["type"] in ("stat", "table") or not re.search(r"by \((?!le\))", target["expr"])
        assert is_single or "{{" in target["legendFormat"], "the legend does not distinguish the lines"


@pytest.mark.parametrize("text", [RULES_TEXT, *(target["expr"] for panel in PANELS.values() for target in panel["targets"])])
def test_no_query_replaces_missing_data_with_a_constant(text):
    assert not re.search(r"\bvector\s*\(|\bor\s+(on\s*\([^)]*\)\s*)?\(?\s*[0-9]", text)


def test_every_panel_and_alert_has_a_fault_that_moves_it():
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
    assert len(section) > 200, f"the section {alert} in docs/monitoring.md is missing or too short"


def test_every_runbook_is_of_an_existing_alert():
    assert sorted(re.findall(r"^### (Longshore\w+)$", RUNBOOK, re.M)) == sorted(ALERTS)


def test_the_documentation_shows_every_dashboard():
    for dashboard in DASHBOARDS.values():
        assert f"(pictures/{dashboard['uid']}.png)" in RUNBOOK
        assert (ROOT / f"docs/pictures/{dashboard['uid']}.png").stat().st_size < 300_000


@pytest.mark.parametrize("path, shown", [*((PICTURES / f"{dashboard['uid']}.png", dashboard) for dashboard in DASHBOARDS.values()),
                                         (README_PICTURE, README_PANELS)], ids=lambda each: getattr(each, "name", ""))
def test_a_picture_shows_the_present_dashboard(path, shown):
    """If this fails, run tests/dashboards/render.py."""
    assert texts_of(path).get("shown") == digest(shown)


def test_the_readme_shows_its_picture():
    assert f"({README_PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text()
    assert README_PICTURE.stat().st_size < 100_000


def test_prometheus_accepts_the_rules():
    promtool("check", "rules", RULES)


def test_alerts_fire_exactly_when_expected():
    promtool("test", "rules", ROOT / "tests/dashboards/rules_test.yaml")


def test_every_alert_has_cases_in_which_it_fires_and_does_not_fire():
    cases = (ROOT / "tests/dashboards/rules_test.yaml").read_text()
    for alert in ALERTS:
        [*expected] = re.findall(rf"alertname: {alert}\n(?:.*\n)*?\s+exp_alerts:(.*)", cases)
        assert any(each.strip() == "[]" for each in expected) and any(each.strip() != "[]" for each in expected), alert
