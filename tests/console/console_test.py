"""The console in a real browser, through a whole canary: every page, every theme, without errors, cookies or foreign requests.

axe-core judges the accessibility. With LONGSHORE_PICTURES=FOLDER the tests also save pictures of the pages (pictures.py).
"""

import urllib.error
import urllib.request

import pytest

import pictures
from canary_scene import HOSTILE_FOLDER, LONGEST_SERVED_NAME, MODEL
from harness import wait_for
from tab import PATHS, Tab, graph, section, violations_of

BYTES_MAX = 200_000
FIRST_PAINT_MS_MAX = 300
PAINTS_MAX = 10  # Other programs of the machine make single ones slow.


def test_pictures_are_taken_during_the_canary(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        for name, picture in (("overview", "overview"), ("model", "canary"), ("fleet", "fleet")):
            tab.open(name)
            pictures.save(chromium, tab.page, picture)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PATHS)
def test_a_page_has_no_errors_and_no_violation(chromium, node_modules, with_hostile_objects, name, theme):
    with Tab(chromium, with_hostile_objects, color_scheme=theme) as tab:
        tab.open(name)
        assert violations_of(tab.page, node_modules) == []
        assert tab.problems == []
        assert tab.foreign == []
        assert tab.context.cookies() == []


def test_a_canary_is_shown_with_its_steps_its_split_and_its_interval(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.open("model")
        assert tab.page.title() == f"Model default/{MODEL} – Longshore"
        steps = [step.inner_text().split("\n")[:2] for step in tab.page.query_selector_all(".step")]
        assert steps == [["20 %", "done"], ["50 %", "now"], ["100 %", "later"]]
        text = tab.page.inner_text("main").replace("\u00a0", " ")
        for part in ("Version 1 gets 50 % of the requests, version 2 gets 50 %.", "The step waits for longshore promote.",
                     "With 95 % confidence, the candidate's error rate less stable's is between", "the limit is 0.5 points",
                     "Failed requests", "Run time, median", "Difference, with 95 % confidence", "Stable, version 1", "Candidate, version 2"):
            assert part in text
        assert tab.page.query_selector("svg.graph path.band").get_attribute("d").count("L") >= 3
        assert len(tab.page.query_selector_all("svg.graph")) == 6
        labels = [graph.get_attribute("aria-label") for graph in tab.page.query_selector_all("svg.graph")]
        assert all(len(label) > 30 for label in labels), labels


def test_a_page_can_be_used_by_keyboard(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.open("overview")
        tab.page.keyboard.press("Tab")
        assert tab.page.evaluate("document.activeElement.textContent") == "Skip to the content"
        tab.page.keyboard.press("Enter")
        for _ in range(10):
            tab.page.keyboard.press("Tab")
            if tab.page.evaluate("document.activeElement.textContent") == f"default/{MODEL}":
                break
        outline = tab.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", "the focus is visible"
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url(f"**/models/default/{MODEL}")


def test_a_link_to_a_filtered_overview_can_be_shared(chromium, with_hostile_objects):
    with Tab(chromium, with_hostile_objects) as tab:
        names = lambda: [row.inner_text() for row in tab.page.query_selector_all("[aria-label=Models] tbody th")]  # noqa: E731
        tab.open("overview")
        tab.page.fill("input[type=search]", f"{MODEL.upper()} under")
        assert names() == [f"default/{MODEL}"]
        assert tab.page.is_visible("text=1 of 4 are shown.")
        tab.page.goto(tab.page.url)
        tab.page.wait_for_selector("h2")
        assert names() == [f"default/{MODEL}"]
        tab.page.fill("input[type=search]", "nothing")
        assert tab.page.is_visible("text=No Model matches the filter.")


def test_the_chosen_colours_are_kept(chromium, in_canary):
    with Tab(chromium, in_canary, color_scheme="light") as tab:
        tab.open("overview")
        background = lambda: tab.page.evaluate("getComputedStyle(document.body).backgroundColor")  # noqa: E731
        light = background()
        tab.page.select_option("select", "dark")
        dark = background()
        assert dark != light
        tab.open("fleet")
        assert background() == dark


def test_colours_can_be_chosen_where_the_browser_stores_nothing(chromium, in_canary):
    with Tab(chromium, in_canary, color_scheme="light") as tab:
        tab.page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})")
        tab.open("overview")
        tab.page.select_option("select", "dark")
        assert tab.page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert tab.problems == []


def test_a_hidden_page_reads_nothing_and_a_shown_one_at_once(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.page.clock.install()
        tab.page.add_init_script("Object.defineProperty(document, 'hidden', {get: () => window.isHidden ?? false})")
        tab.open("overview")
        with tab.page.expect_request("**/api/v1/overview"):
            tab.page.clock.run_for(2_000)
        tab.page.wait_for_load_state("networkidle")
        requests = []
        tab.page.on("request", lambda request: requests.append(request.url))
        tab.is_shown(False)
        tab.page.clock.run_for(60_000)
        assert requests == []
        with tab.page.expect_response("**/api/v1/overview"):
            tab.is_shown(True)
        with tab.page.expect_request("**/api/v1/overview"):
            tab.page.clock.run_for(3_000)


@pytest.mark.parametrize("name", ["overview", "model", "fleet"])
def test_every_page_says_why_the_controller_does_not_reconcile(chromium, in_canary, name):
    def change(path, data):
        if path != "/api/v1/access":
            data["controller"]["problem"] = "The disk is full."

    with Tab(chromium, in_canary) as tab:
        tab.change_answers(lambda _path, data: data.get("controller", {}).update(problem="The disk is full."))
        tab.open(name)
        assert tab.page.is_visible("div[role=alert] >> text=The disk is full.")


def test_a_manifest_file_that_never_became_an_object_is_shown(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.open("overview")
        row = tab.page.inner_text("tr:has-text('typo.yaml')")
        for part in ("manifests/typo.yaml", "failed", "Modell"):
            assert part in row


def test_a_graph_has_a_gap_where_nothing_was_measured(chromium, in_canary):
    def change(path, data):
        if not path.endswith("/history"):
            return
        now, every = data["now"], data["intervalMs"]
        times = [now - every * i for i in range(60, 20, -1) if not 30 < i < 50]
        data["versions"] = [{"version": 1, "points": [[at, 10, 0, 1, 2] for at in times]}]

    with Tab(chromium, in_canary) as tab:
        tab.change_answers(change)
        tab.open("model")
        requests = graph(tab, "Requests per second")
        assert requests.query_selector("path.line").get_attribute("d").count("M") == 2
        assert [label.text_content() for label in requests.query_selector_all(".axes > text")] == ["5 min ago", "now"]
        assert "–" in tab.page.inner_text("tr:has-text('Requests per second now')"), "nothing is measured now"


def test_each_version_of_a_graph_has_its_own_dashes(chromium, in_canary):
    def change(path, data):
        if path.endswith("/history"):
            now, every = data["now"], data["intervalMs"]
            times = [now - every * i for i in range(20, 0, -1)]
            data["versions"] += [{"version": version, "points": [[at, 10, 0, 1, 2] for at in times]} for version in (40, 44, 48)]

    with Tab(chromium, in_canary) as tab:
        tab.change_answers(change)
        tab.open("model")
        lines = graph(tab, "Requests per second").query_selector_all(".graph path.line")
        dashes = [line.evaluate("(line) => getComputedStyle(line).strokeDasharray") for line in lines]
        assert len(dashes) == 5
        assert len(set(dashes)) == 5, dashes


def test_a_disabled_test_has_no_limit(chromium, in_canary):
    def change(path, data):
        if path.endswith("/history"):
            data["evidence"] = [[*point[:3], None, 0.9, 1.2, 1.1] for point in data["evidence"]]
        elif data.get("evidence"):
            data["evidence"] = [*data["evidence"][:3], None, 0.9, 1.2, 1.1]

    with Tab(chromium, in_canary) as tab:
        tab.change_answers(change)
        tab.open("model")
        errors, ratios = graph(tab, "Error rate of the candidate"), graph(tab, "Median run time of the candidate")
        assert errors.query_selector(".line-limit") is None
        assert ratios.query_selector(".line-limit") is not None
        assert tab.page.is_visible("text=The manifest disables this test, so there is no limit.")


def test_the_graphs_of_the_evidence_end_with_the_numbers_of_the_table(chromium, in_canary):
    def change(path, data):
        if path.endswith("/history"):
            data["evidence"] = [[*point[:1], -0.9, 0.9, *point[3:]] for point in data["evidence"]]
        elif data.get("evidence"):
            data["evidence"][1:3] = [-0.123, 0.321]

    with Tab(chromium, in_canary) as tab:
        tab.change_answers(change)
        tab.open("model")
        graph(tab, "Error rate of the candidate")
        assert tab.page.is_visible("text=is between −12.3 points and 32.1 points")


def test_what_a_test_has_shown_is_what_the_verdict_says(chromium, in_canary):
    proven = "It is proven that the candidate is not worse than allowed."
    failed = "The test failed: the candidate is worse than stable."
    nothing = "This test has proved nothing yet."
    for numbers, shown in (
        ({"eErrors": 0.1, "eErrorsProof": 20.1}, proven),
        ({"eErrors": 0.1, "eErrorsProof": 19.9}, nothing),
        ({"eErrors": 300, "eErrorsProof": 0.1}, failed),
    ):

        def change(path, data, numbers=numbers):
            if path.endswith("/history"):
                data["evidence"] = [[*point[:1], -0.01, 0.005, 0.005, *point[4:]] for point in data["evidence"]]
            elif data.get("evidence"):
                data["evidence"][1:4] = [-0.01, 0.005, 0.005]
                data["rollout"]["verdict"]["numbers"].update(numbers, eErrorsLimit=222, eProofLimit=20)

        with Tab(chromium, in_canary) as tab:
            tab.change_answers(change)
            tab.open("model")
            label = graph(tab, "Error rate of the candidate").query_selector("svg.graph").get_attribute("aria-label")
            assert shown in label, label


def test_only_nodes_of_a_host_show_their_process(chromium, in_canary):
    for has_pods in (False, True):
        with Tab(chromium, in_canary) as tab:
            tab.change_answers(lambda path, data: data.update(hasPods=has_pods) if "/fleets/" in path else None)
            tab.open("fleet")
            columns = [cell.inner_text() for cell in tab.page.query_selector_all("[aria-label=Nodes] thead th")]
            assert ("Process, administration" in columns) == (not has_pods)


def test_a_test_that_failed_before_there_was_an_interval_is_explained(chromium, in_canary):
    def change(path, data):
        if "comparedNote" in data:
            data["comparedNote"] = "The failed test needs fewer requests."

    with Tab(chromium, in_canary) as tab:
        tab.change_answers(change)
        tab.open("model")
        assert "The failed test needs fewer requests." in section(tab, "Both versions side by side").inner_text()


def test_a_model_without_requests_has_no_run_times(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.page.goto(in_canary.url + "/models/default/ranking")
        assert "No version has answered a request" in graph(tab, "Median run time").inner_text()


def test_a_model_that_is_deleted_is_said_to_be_missing(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.open("model")
        missing = {"status": 404, "json": {"error": f"Model default/{MODEL} does not exist"}}
        tab.page.route("**/api/v1/models/**", lambda route: route.fulfill(**missing))
        tab.page.wait_for_selector("text=It was deleted, or its name is mistyped.")
        assert tab.page.query_selector("section") is None, "nothing of its old state is shown"
        tab.page.click("main a:text('overview')")
        tab.page.wait_for_selector("h1:has-text('Overview')")


def test_the_numbers_of_the_overview_lead_to_what_they_count(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.open("overview")
        tab.page.click("a:text('2 as wanted')")
        tab.page.wait_for_selector("text=are shown.")
        shown = [row.inner_text() for row in tab.page.query_selector_all("section tbody th")]
        assert shown == ["default/ranking", "default/cpu"]
        tab.page.click("a:text('1 failed')")
        tab.page.wait_for_selector("text=No Model matches the filter.")
        assert tab.page.is_visible("tr:has-text('typo.yaml')"), "a file with a mistake has failed, too"
        tab.page.click("a:text('Show all states')")
        tab.page.wait_for_selector("tr:has-text('default/ranking')")


def test_the_numbers_of_the_overview_do_not_count_names(chromium, in_canary):
    def change(path, data):
        if path.endswith("/overview"):
            data["models"][0]["name"] = "failed-before"

    with Tab(chromium, in_canary) as tab:
        tab.change_answers(change)
        tab.open("overview")
        tab.page.wait_for_selector("tr:has-text('failed-before')")
        tab.page.click("a:text('1 failed')")
        tab.page.wait_for_selector("text=No Model matches the filter.")


def test_the_age_of_the_numbers_of_a_verdict_is_shown_unless_they_are_new(chromium, in_canary):
    at = "2020-01-01T00:00:00Z"

    def change(path, data):
        if path.endswith(f"/{MODEL}"):
            data["numbersAt"] = at

    with Tab(chromium, in_canary) as tab:
        tab.change_answers(change)
        tab.open("model")
        tab.page.wait_for_selector("text=The numbers were last updated")
        at = "2100-01-01T00:00:00Z"
        tab.open("model")
        tab.page.wait_for_selector(".verdict")
        assert not tab.page.is_visible("text=The numbers were last updated")


def test_hostile_texts_are_only_texts(chromium, with_hostile_objects):
    def change(path, data):
        if path.endswith("/history"):
            run = {"type": HOSTILE_FOLDER, "error": "", "ms": 0}
            data["worstPairs"] = [{"node": HOSTILE_FOLDER, "at": 0, "traceId": HOSTILE_FOLDER, "signature": LONGEST_SERVED_NAME, "rows": 1,
                                   "output": HOSTILE_FOLDER, "relativeDifference": 1e-300, "absoluteDifference": 1e300, "stable": run,
                                   "candidate": {**run, "error": HOSTILE_FOLDER}}]

    with Tab(chromium, with_hostile_objects) as tab:
        tab.change_answers(change)
        for name in ("overview", "fleet", "hostile"):
            tab.open(name)
            assert tab.page.query_selector("main img, main script, main iframe") is None
            assert tab.page.title() != "1"
            width = tab.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert width[0] <= width[1], f"{name} is wider than the window"
        text = tab.page.inner_text("main")
        assert HOSTILE_FOLDER in text
        pair = [cell.inner_text() for cell in tab.page.query_selector_all("[aria-label='Answers that differ most'] tbody tr > *")]
        assert pair[:3] == [HOSTILE_FOLDER, "1.00e-300", "1.00e+300"]
        assert pair[4] == f"failed: {HOSTILE_FOLDER}"
        assert LONGEST_SERVED_NAME in text
        isolated = tab.page.evaluate("[...document.querySelectorAll('bdi')].some((one) => one.textContent.includes('\\u202e'))")
        assert isolated, "a change of the direction of writing ends with the text that has it"
        assert tab.problems == []


def test_a_page_is_small_and_soon_painted(chromium, in_canary):
    paints, sizes = [], []
    while not paints or (min(paints) > FIRST_PAINT_MS_MAX and len(paints) < PAINTS_MAX):
        with Tab(chromium, in_canary) as tab:
            tab.open("model")
            paints.append(tab.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            entries = "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
            sizes.append(tab.page.evaluate(f"{entries}.reduce((sum, entry) => sum + entry.transferSize, 0)"))
    print(f"first paint {min(paints):.0f} ms, {max(sizes)} bytes")
    assert min(paints) <= FIRST_PAINT_MS_MAX
    assert 10_000 < max(sizes) <= BYTES_MAX


def ask(scene, path, method="GET", **headers):
    request = urllib.request.Request(scene.url + path, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_unchanged_data_is_not_sent_again(scene):
    _, headers, body = ask(scene, "/files/console.js")
    assert len(body) > 10_000
    status, _, body = ask(scene, "/files/console.js", **{"If-None-Match": headers["ETag"]})
    assert (status, body) == (304, b"")


def test_only_reading_under_a_known_name_is_possible(scene):
    assert ask(scene, "/api/v1/overview")[0] == 200
    assert ask(scene, "/api/v1/overview", method="HEAD")[0] == 200
    assert ask(scene, "/api/v1/overview", method="POST")[0] == 405
    assert ask(scene, "/api/v1/overview", Host="evil.test")[0] == 421
    status, _, body = ask(scene, "/api/v1/models/default/nothing")
    assert status == 404 and b"nothing" in body
    assert ask(scene, "/models/default/../../etc/passwd")[0] == 404


# Notes what the browser shows to people outside the page.
NOTE_NOTIFICATIONS = """window.noted = [];
const Real = Notification;
window.Notification = class extends Real {
  constructor(title, options) {
    super(title, options);
    window.noted.push(`${title}: ${options.body}`);
  }
};"""


def test_a_refused_notification_is_said(chromium, in_canary):
    with Tab(chromium, in_canary) as tab:
        tab.page.add_init_script("Notification.requestPermission = async () => 'denied'")
        tab.open("overview")
        tab.page.click("text=Notify me")
        tab.page.wait_for_selector("text=The browser refuses notifications of this page.")


def test_nothing_is_notified_twice(chromium, in_canary):
    """A Model that fails for a moment has its old notice again afterwards."""
    promoted, failed, other = ({"id": text, "text": text} for text in ("promoted", "failed", "other"))
    notices = {MODEL: promoted, "ranking": None}

    def change(path, data):
        if path == "/api/v1/overview":
            for model in data["models"]:
                model["notice"] = notices.get(model["name"])

    def wait_for_noted(number):
        wait_for(f"{number} notifications", lambda: tab.page.evaluate("noted.length") >= number)

    with Tab(chromium, in_canary, permissions=["notifications"]) as tab:
        tab.page.add_init_script(NOTE_NOTIFICATIONS)
        tab.change_answers(change)
        tab.open("overview")
        tab.page.click("text=Notify me")
        notices[MODEL] = failed
        wait_for_noted(1)
        notices.update({MODEL: promoted, "ranking": other})
        wait_for_noted(2)
        assert tab.page.evaluate("noted") == [f"Model default/{MODEL}: failed", "Model default/ranking: other"]


def test_the_end_of_rollouts_and_of_the_controller_appear_by_themselves(chromium, node_modules, in_canary):
    with Tab(chromium, in_canary, permissions=["notifications"]) as tab, Tab(chromium, in_canary, permissions=["notifications"]) as silent:
        for one in (tab, silent):
            one.page.add_init_script(NOTE_NOTIFICATIONS)
            one.open("model")
        tab.page.click("text=Notify me")
        tab.page.wait_for_selector("text=Notifications are on")
        in_canary.promote()
        tab.page.wait_for_selector("text=version 2 was promoted", timeout=20_000)
        assert "as wanted" in tab.page.inner_text("p[role=status]")
        tab.page.wait_for_selector("text=Evidence against the limits of the last rollout")
        in_canary.abort_another_canary()
        tab.page.wait_for_selector("text=version 3 was rolled back", timeout=20_000)
        assert tab.page.inner_text(".step .step-state") == "ended here"
        assert not tab.page.is_visible("text=Evidence against the limits"), "that of another rollout"
        assert "Aborted" in tab.page.inner_text("section:has(h2:text('Versions that failed'))")
        noted = [f"Model default/{MODEL}: Version 2 was promoted.",
                 f"Model default/{MODEL}: Version 3 was rolled back. Aborted: version 3 failed: aborted by command"]
        assert tab.page.evaluate("noted") == noted
        assert silent.page.evaluate("noted") == [], "nobody asked for them there"
        pictures.save(chromium, tab.page, "aborted")
        assert violations_of(tab.page, node_modules) == []
        in_canary.it.kill_controller()  # The last test: the scene has no controller any more.
        alert = tab.page.wait_for_selector("div[role=alert] p")
        assert "is not up to date" in alert.inner_text()
