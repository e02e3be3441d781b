"""The pairs of a real shadow rollout whose answers differ most, in the JSON of the console and on the page of the Model."""

import json
import urllib.request

import pytest

from harness import Installation, wait_for
from local_test import Load, half_plus
from tab import Tab, violations_of

PATH = "/models/default/half"
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
TITLE = "Answers that differ most"
FIELDS = {"node", "at", "traceId", "signature", "rows", "output", "relativeDifference", "absoluteDifference", "stable", "candidate"}


class Shadow:
    """A fleet of two nodes and the load of one client. Stable answers x/2 + 2, the candidate of the shadow x/2 + 3."""

    def __init__(self, it):
        self.it = it
        self.url = it.console_url()

    def pairs(self):
        with urllib.request.urlopen(f"{self.url}/api/v1{PATH}/history", timeout=10) as answer:
            return json.load(answer)["worstPairs"]

    def ask_with_trace(self):
        """The answers to this request differ by more, relative to their size, than those to the requests of the load."""
        address = self.it.fleet_status()["restAddress"]
        request = urllib.request.Request(f"http://{address}/v1/models/half:predict", data=b'{"instances": [0.0, 0.0, 0.0]}',
                                         headers={"traceparent": f"00-{TRACE_ID}-00f067aa0ba902b7-01"})
        urllib.request.urlopen(request, timeout=10).close()


@pytest.fixture(scope="module")
def shadow():
    with Installation() as it:
        source = half_plus(it.dir)
        it.apply_fleet(nodes=2)
        it.apply_model("half", source, 1)
        it.start_controller()
        it.wait_for_stable("half", 1)
        with Load(it, "half"):
            it.apply_model("half", source, 2, rollout={"strategy": "Shadow", "shadow": {"for": "1h", "share": 1, "budget": 1}})
            scene = Shadow(it)
            wait_for("pairs of the load", lambda: len(scene.pairs()) == 5,
                     seen=lambda: f"; there are {scene.pairs()}, and the status is {it.status('half')}")
            yield scene


def test_the_worst_pairs_of_all_nodes_are_there_without_values(shadow):
    def traced():
        shadow.ask_with_trace()
        return shadow.pairs()[0]["traceId"] == TRACE_ID

    wait_for("a pair of the request that differs most", traced)
    pairs = shadow.pairs()
    assert len(pairs) == 5
    worst = pairs[0]
    assert set(worst) == FIELDS
    assert (worst["signature"], worst["rows"], worst["absoluteDifference"]) == ("serving_default", 3, 1.0)
    assert worst["relativeDifference"] == pytest.approx(1 / (2 + 3))
    for run in (worst["stable"], worst["candidate"]):
        assert set(run) == {"type", "error", "ms"}
        assert run["type"].startswith("DT_FLOAT [3")
        assert run["error"] == ""
    assert [pair["relativeDifference"] for pair in pairs] == sorted((pair["relativeDifference"] for pair in pairs), reverse=True)
    assert {pair["node"] for pair in pairs} <= {node["name"] for node in shadow.it.fleet_status()["nodes"]}


def test_explain_shows_the_three_that_differ_most(shadow):
    explained = shadow.it.command("explain", "half").stdout
    assert explained.count("   serving_default, ") == 3, explained
    assert "  The console shows more of these pairs: longshore console\n" in explained


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_shows_them_as_a_table(chromium, node_modules, shadow, theme):
    with Tab(chromium, shadow, color_scheme=theme) as tab:
        tab.page.goto(shadow.url + PATH)
        section = tab.page.wait_for_selector(f"section:has(h2:text('{TITLE}'))")
        assert "a node ran one request on both versions" in section.inner_text()
        assert len(section.query_selector_all("tbody tr")) == 5
        assert "DT_FLOAT" in section.query_selector("tbody tr").inner_text()
        assert section.query_selector(f"[role=group][aria-label='{TITLE}'][tabindex='0']"), "a wide table scrolls by keyboard"
        assert violations_of(tab.page, node_modules) == []
        assert tab.problems == []


def test_both_versions_of_a_shadow_are_compared_by_their_pairs(chromium, shadow):
    with Tab(chromium, shadow) as tab:
        tab.page.goto(shadow.url + PATH)
        row = tab.page.wait_for_selector("[aria-label='Both versions side by side'] tr:has-text('Inputs that both versions ran')")
        stable, candidate = [cell.inner_text() for cell in row.query_selector_all("td")][:2]
        assert int(stable) == int(candidate) > 0
        assert tab.page.is_visible("[aria-label='Both versions side by side'] tr:has-text('Mean difference of the answers to the same input')")


def test_failed_runs_are_shown_and_without_pairs_there_is_no_table(chromium, shadow):
    def change(path, data):
        if path.endswith("/history"):
            data["worstPairs"] = [{**pair, "output": "", "absoluteDifference": None, "candidate": {"type": "", "error": "INTERNAL", "ms": 0}}
                                  for pair in data["worstPairs"][:kept]]

    with Tab(chromium, shadow) as tab:
        tab.change_answers(change)
        kept = 1
        tab.page.goto(shadow.url + PATH)
        row = tab.page.wait_for_selector(f"section:has(h2:text('{TITLE}')) tbody tr")
        assert "failed: INTERNAL" in row.inner_text()
        kept = 0
        tab.page.reload()
        tab.page.wait_for_selector("text=The last hour")
        assert not tab.page.is_visible(f"text={TITLE}")


def test_the_pairs_of_a_rollout_that_was_aborted_are_still_shown(shadow):
    before = shadow.pairs()
    done = shadow.it.command("abort", "half")
    assert done.returncode == 0, done.stderr
    wait_for("the end of the rollout", lambda: shadow.it.phase("half") == "RolledBack")
    assert shadow.pairs()[0] == before[0]
