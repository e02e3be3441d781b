"""How the pages of the console fit into wide and narrow windows."""

import pytest

from tab import PATHS, Tab, graph, violations_of

NARROW_HEIGHT_MAX = 5000  # Pixels.


def test_a_fleet_is_not_cut_in_a_window_of_1000_pixels(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.page.set_viewport_size({"width": 1000, "height": 700})
        tab.open("fleet")
        width = tab.page.evaluate("(() => { const table = document.querySelector('[aria-label=Nodes]');"
                                  " return [table.scrollWidth, table.clientWidth]; })()")
        assert width[0] <= width[1], width


def test_a_table_that_is_wider_than_its_box_has_a_shadow_at_the_edge(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.page.set_viewport_size({"width": 660, "height": 700})
        tab.open("fleet")
        width, box, attachment = tab.page.evaluate(
            "(() => { const table = document.querySelector('[aria-label=Nodes]');"
            " return [table.scrollWidth, table.clientWidth, getComputedStyle(table).backgroundAttachment]; })()")
        assert width > box
        assert attachment == "local, local, scroll, scroll", "covers that scroll away from the shadows"


def many_events(path, data):
    if "failed" in data:
        data["history"] = [{"at": "2026-01-01T00:00:00Z", "version": 7, "what": "Step", "message": f"event {i}"} for i in range(50)]


def test_old_events_are_shown_on_demand(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.change_answers(many_events)
        tab.open("model")
        events = lambda: [row.inner_text() for row in tab.page.query_selector_all("[aria-label=Events] tbody td:last-child")]  # noqa: E731
        assert events() == [f"event {i}" for i in range(49, 39, -1)]
        tab.page.click("button:has-text('Show all 50')")
        assert events()[-1] == "event 0"


@pytest.mark.parametrize("name", PATHS)
def test_a_narrow_window_shows_rows_as_cards(chromium, node_modules, with_hostile_objects, name):
    with Tab(chromium, with_hostile_objects, viewport={"width": 380, "height": 800}) as tab:
        tab.change_answers(many_events)
        tab.open(name)
        assert tab.page.evaluate("document.documentElement.scrollHeight") < NARROW_HEIGHT_MAX
        tab.page.evaluate("document.querySelectorAll('section > details').forEach((one) => { one.open = true; })")
        assert violations_of(tab.page, node_modules) == []
        assert tab.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        cut = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length"
        assert tab.page.evaluate(cut) == 0, "a table is cut at the edge"
        label = "getComputedStyle(document.querySelector('tbody td'), '::before').content"
        assert len(tab.page.evaluate(label)) > 4, "each cell has the name of its column"


def test_what_is_folded_in_a_narrow_window_can_be_opened(chromium, in_canary):
    with Tab(chromium, in_canary, viewport={"width": 380, "height": 800}) as tab:
        tab.open("model")
        assert not tab.page.is_visible("[aria-label=Events]")
        tab.page.click("h2:text('Events')")
        assert tab.page.is_visible("[aria-label=Events]")


def test_an_interval_without_an_end_is_a_sentence_and_one_beyond_the_limit_is_drawn(chromium, in_canary):
    def change(path, data):
        if path.endswith("/history"):
            data["evidence"] = [[*point[:1], -1, 1, 0.005, 2.2, 5.5, 1.1] for point in data["evidence"]]
        elif data.get("evidence"):
            data["evidence"][1:] = [-1, 1, 0.005, 2.2, 5.5, 1.1]

    with Tab(chromium, in_canary) as tab:
        tab.change_answers(change)
        tab.open("model")
        errors, ratios = graph(tab, "Error rate of the candidate"), graph(tab, "Median run time of the candidate")
        assert "There are too few requests yet" in errors.inner_text() and errors.query_selector("svg.graph") is None
        assert ratios.query_selector("path.band").bounding_box()["height"] > 20
