"""Every query of every dashboard and rule, asked of a real Prometheus that scrapes a real run; and what moves when a fault is done.

scene.py is the run, moves.yaml says which fault moves what. LONGSHORE_PROMETHEUS names the program.
"""

import collections
import re
import time
import urllib.request

import pytest

from asked import DASHBOARDS, PANELS, ROOT, filled_in_queries, has_moved, read_moves, variables
from prometheus import find_prometheus
from scene import FAULTS, RATE_INTERVAL_S, Scene, wait_for

MOVES_MAX_S = 90  # A golden set runs once a minute. A busy machine needs more than the few seconds of a quiet one.
STEADY_BEFORE = "bad_requests"  # Of the faults: by then there were all kinds of rollouts, and nothing is wrong.
MOVES = read_moves()


def name_of(move):
    return move.get("panel") or move["alert"]


class Seen:
    """What the run showed."""

    def __init__(self):
        self.moved = {}                             # Name -> whether it moved.
        self.empty = collections.defaultdict(list)  # Name -> queries without data in the steady moment.
        self.variables = {}                         # (Series, label) -> the values that one can choose.
        self.recorded = set()                       # Records of rules that had data.
        self.unhealthy = []                         # Rules, with what Prometheus says of them.
        self.shown = {}                             # Of the controller: name -> kind and labels.


class Asker:
    """Asks what panels and alerts ask, over the whole run."""

    def __init__(self, prometheus):
        self.prometheus, self.began = prometheus, time.monotonic()

    def rules(self):
        return [rule for group in self.prometheus.ask("rules")["groups"] for rule in group["rules"]]

    def queries(self, move):
        if "panel" in move:
            return filled_in_queries(PANELS[move["panel"]], RATE_INTERVAL_S, int(time.monotonic() - self.began) + 1)
        [expr] = {rule["query"] for rule in self.rules() if rule["name"] == move["alert"]}
        for long, short in move.get("shortened", {}).items():
            assert expr.count(long) == 1, f"{move['alert']}: {long} is not once in {expr}"
            expr = expr.replace(long, short)
        return [expr]

    def answers(self, move):
        """(number of the query, labels) -> value."""
        return {(number, labels): value for number, query in enumerate(self.queries(move))
                for labels, value in self.prometheus.now(query).items()}


def see_moves(asker, fault, seen):
    moves = [move for move in MOVES if move["fault"] == fault.__name__]
    before = {name_of(move): asker.answers(move) for move in moves}
    left = list(moves)

    def all_moved():
        left[:] = [move for move in left if not has_moved(move, before[name_of(move)], asker.answers(move))]
        return not left

    with fault():
        try:
            wait_for("everything to move", all_moved, MOVES_MAX_S)
        except AssertionError:  # Each is told by its own test.
            pass
    seen.moved |= {name_of(move): move not in left for move in moves}
    seen.recorded |= {rule["name"] for rule in asker.rules() if rule["type"] == "recording" and asker.prometheus.now(rule["name"])}


def see_steady(asker, scene, seen):
    for move in MOVES:
        if "panel" in move and not move.get("empty"):
            seen.empty[name_of(move)] = [query for query in asker.queries(move) if not asker.prometheus.now(query)]
    for dashboard in DASHBOARDS.values():
        for series, label in variables(dashboard):
            values = asker.prometheus.now(f"count by ({label}) ({series.replace('$fleet', '.*')})")
            seen.variables[series, label] = {dict(labels).get(label) for labels in values} - {None}
    for address in scene.controller_addresses():
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            seen.shown |= exposed(answer.read().decode())


OF_OBJECTS = {"longshore_model_": {"namespace", "name", "fleet", "model"}, "longshore_fleet_": {"namespace", "name", "fleet"}}


def exposed(text):
    """name -> kind and labels, without those that all series of an object have."""
    shown = {}
    for name, kind in re.findall(r"^# TYPE (\S+) (\w+)$", text, re.M):
        labels = re.search(rf"^{name}(?:_count)?(?:\{{(.*)\}})? ", text, re.M)[1] or ""
        common = next((labels for prefix, labels in OF_OBJECTS.items() if name.startswith(prefix)), set())
        its = set(re.findall(r'(\w+)="', labels))
        assert common <= its, name
        shown[name] = (kind, its - common)
    return shown


@pytest.fixture(scope="module")
def seen():
    if find_prometheus() is None:
        pytest.skip("LONGSHORE_PROMETHEUS names no Prometheus")
    it = Seen()
    with Scene(find_prometheus()) as scene:
        asker = Asker(scene.prometheus)
        for name in FAULTS:
            if name == STEADY_BEFORE:
                see_steady(asker, scene, it)
            see_moves(asker, getattr(scene, name), it)
        it.unhealthy = [(rule["name"], rule.get("lastError")) for rule in asker.rules() if rule["health"] != "ok"]
    return it


@pytest.mark.parametrize("move", MOVES, ids=name_of)
def test_it_moves_when_its_fault_is_done(seen, move):
    assert seen.moved[name_of(move)], f"{move['fault']} did not move it"


@pytest.mark.parametrize("panel", [name_of(move) for move in MOVES if "panel" in move and not move.get("empty")])
def test_every_query_of_a_panel_has_data(seen, panel):
    assert seen.empty[panel] == []


def test_every_variable_has_something_to_choose(seen):
    assert seen.variables["longshore_run_slots", "fleet"] == {"default/cpu"}
    assert all(seen.variables.values()), seen.variables


def test_every_rule_can_be_evaluated_and_every_record_has_data(seen):
    assert seen.unhealthy == []
    assert seen.recorded == {"longshore:request_seconds:quantile5m", *(f"longshore:request_faults:ratio_rate{window}" for window in (
        "5m", "30m", "1h", "6h"))}


def test_the_document_lists_what_controllers_show(seen):
    _, _, text = (ROOT / "docs/metrics.md").read_text().partition("\n## Metrics of the controller\n")
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \|([^|]*)\| [^|]+ \|$", text, re.M)
    assert {name: (kind, set(re.findall(r"\w+", labels))) for name, kind, labels in rows} == seen.shown
