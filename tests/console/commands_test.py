"""Commands in the console: who may give them, what the page shows, and what a page of another site or a stranger can do."""

import json
import urllib.error
import urllib.request

import pytest

from canary_scene import MODEL, Scene
from harness import wait_for
from tab import Tab, violations_of

ADMIN, READER = "annas-token-is-long-enough", "bens-token-is-long-enough-too"
OTHER_ADMIN = "carlas-token-is-long-enough"
PATH = f"/api/v1/models/default/{MODEL}"


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    """The file with the tokens."""
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text(f"anna {ADMIN} admin\nben {READER} predict\n")
    return tokens


@pytest.fixture(scope="module")
def scene(tokens):
    scene = Scene([f"--console_tokens={tokens}"])
    scene.begin_canary()
    yield scene
    scene.end()


def sign_in(page, token):
    page.click("header button:text('Sign in')")
    page.fill("dialog input", token)
    page.keyboard.press("Enter")


def send(scene, path, body, token=ADMIN, **headers):
    """Returns the status and the JSON of the answer."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {}), **headers}
    request = urllib.request.Request(scene.url + path, data=json.dumps(body).encode(), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def abort_of(scene):
    [offer] = [one for one in scene.read(PATH)["offers"] if one["verb"] == "abort"]
    return {"verb": "abort", "seen": offer["seen"]}


def test_without_a_token_the_page_offers_no_command(chromium, scene):
    with Tab(chromium, scene) as tab:
        tab.open("model")
        tab.page.wait_for_selector("text=Sign in with a token of the scope admin")
        assert tab.page.query_selector_all(".commands button") == []


def test_a_wrong_token_is_refused_and_not_kept(chromium, scene):
    with Tab(chromium, scene) as tab:
        tab.open("model")
        sign_in(tab.page, "not-a-token-of-anybody")
        tab.page.wait_for_selector("dialog [role=alert]:has-text('This token is not valid.')")
        tab.page.keyboard.press("Escape")
        tab.page.wait_for_selector("dialog", state="detached")
        assert tab.page.evaluate("[sessionStorage.length, document.cookie]") == [0, ""]


def test_a_reader_sees_no_buttons(chromium, scene):
    with Tab(chromium, scene) as tab:
        tab.open("model")
        sign_in(tab.page, READER)
        tab.page.wait_for_selector("header >> text=ben")
        assert tab.page.query_selector_all(".commands button") == []


def test_only_an_admin_gives_commands_and_only_from_the_page_itself(scene):
    body = abort_of(scene)
    path = f"{PATH}/commands"
    assert send(scene, path, body, token="")[0] == 401
    assert send(scene, path, body, token=READER)[0] == 403
    assert send(scene, path, body, Origin="http://evil.test")[0] == 403
    assert send(scene, path, body, Host="evil.test")[0] == 421
    assert send(scene, path, body, **{"Content-Type": "text/plain"})[0] == 400
    assert send(scene, PATH, body)[0] == 405
    assert send(scene, path, {"verb": "abort"})[0] == 400
    assert scene.it.phase(MODEL) == "Paused"


def test_a_command_for_a_state_that_is_over_is_refused_with_the_reason(scene):
    body = abort_of(scene)
    body["seen"]["attempt"] -= 1
    status, answer = send(scene, f"{PATH}/commands", body)
    assert status == 409 and "the command was for rollout 1 of this Model, but the last one is rollout 2" in answer["error"]
    assert scene.it.phase(MODEL) == "Paused"


def test_the_dialog_shows_the_warning_of_a_command(chromium, scene):
    def change(path, data):
        if path == PATH:
            data["offers"][0]["warning"] = "The candidate is not proven."

    with Tab(chromium, scene) as tab:
        tab.change_answers(change)
        tab.open("model")
        sign_in(tab.page, ADMIN)
        tab.page.click(".commands button:text('promote')")
        assert tab.page.inner_text("dialog p.warning") == "The candidate is not proven."


def test_a_command_that_a_standby_refuses_is_sent_again(chromium, scene):
    sent = []

    def answer(route):
        sent.append(route.request.post_data)
        if len(sent) == 1:
            route.fulfill(status=503, headers={"X-Longshore-Standby": "1"}, json={"error": "Pod b leads."})
        else:
            route.fulfill(status=503, json={"error": "The store is full."})

    with Tab(chromium, scene) as tab:
        tab.page.route("**/commands", answer)
        tab.open("model")
        sign_in(tab.page, ADMIN)
        tab.page.click(".commands button:text('pause')")
        tab.page.click("dialog button:text('Yes, pause')")
        tab.page.wait_for_selector("section p[role=status]:has-text('The store is full.')")
        assert len(sent) == 2 and sent[0] == sent[1], "only the refusal of the standby is repeated"


def test_a_page_learns_who_may_give_commands_after_a_failure(chromium, scene):
    failures = []

    def answer(route):
        if failures:
            return route.fallback()
        failures.append(route.request.url)
        return route.abort()

    with Tab(chromium, scene) as tab:
        tab.page.route("**/api/v1/access", answer)
        tab.open("model")
        tab.page.wait_for_selector("header button:text('Sign in')")
        assert len(failures) == 1


def test_an_admin_promotes_by_keyboard_and_the_events_name_them(chromium, node_modules, scene):
    with Tab(chromium, scene) as tab:
        page = tab.page
        tab.open("model")
        page.click("header button:text('Sign in')")
        assert violations_of(page, node_modules) == []
        page.keyboard.press("Escape")
        sign_in(page, ADMIN)
        page.wait_for_selector("header >> text=anna")
        page.wait_for_selector(".commands button")
        names = [button.inner_text() for button in page.query_selector_all(".commands button")]
        assert names == ["promote", "pause", "abort"], "as in longshore explain"
        assert violations_of(page, node_modules) == []
        page.focus(".commands button:text('promote')")
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog")
        assert page.inner_text("dialog p").startswith("This will give version 2 all requests now.")
        assert violations_of(page, node_modules) == []
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
        assert page.evaluate("document.activeElement.textContent") == "promote", "the focus is back"
        assert scene.it.phase(MODEL) == "Paused"
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog")
        page.keyboard.press("Enter")
        page.wait_for_selector("section p[role=status]:has-text('promote: done')")
        page.wait_for_selector("text=promote, by anna")
        scene.it.wait_for_stable(MODEL, 2)
        assert tab.problems == []
        assert tab.context.cookies() == []
        page.click("header button:text('Sign out')")
        page.wait_for_selector("header button:text('Sign in')")
        assert page.evaluate("sessionStorage.length") == 0


def wait_for_manual_step(scene, version):
    def is_there():
        rollout = scene.it.status(MODEL)["rollout"]
        return rollout.get("candidate") == version and rollout.get("pausedReason") == "Manual"

    wait_for("the second step", is_there)


def test_a_page_forgets_a_token_that_is_no_longer_valid_and_locks_nobody_out(chromium, scene, tokens):
    scene.apply(3)
    wait_for_manual_step(scene, 3)
    refused = []
    with Tab(chromium, scene) as tab:
        page = tab.page
        page.on("response", lambda response: refused.append(response.url) if response.status == 401 else None)
        tab.open("model")
        sign_in(page, ADMIN)
        page.wait_for_selector("header >> text=anna")
        tokens.write_text(f"carla {OTHER_ADMIN} admin\n")
        page.wait_for_selector("header button:text('Sign in')")
        assert page.evaluate("sessionStorage.length") == 0
        for _ in range(2):
            page.wait_for_event("response", lambda response: response.url.endswith(PATH) and response.ok)
        assert 1 <= len(refused) <= 2, "one request for the Model, and one for its history if it was on its way"
        sign_in(page, OTHER_ADMIN)
        page.wait_for_selector("header >> text=carla")
        page.click(".commands button:text('abort')")
        page.click("dialog button:text('Yes, abort')")
        page.wait_for_selector("section p[role=status]:has-text('abort: done')")
        page.wait_for_selector("text=abort, by carla")


def test_after_ten_wrong_tokens_no_token_is_accepted(scene):
    """The last test, because no token is accepted for a minute."""
    statuses = {send(scene, f"{PATH}/commands", {}, token=f"guess-number-{number:06}")[0] for number in range(11)}
    assert statuses == {401, 429}
    assert send(scene, f"{PATH}/commands", {})[0] == 429
    assert scene.read("/api/v1/overview")["models"], "reading needs no token"
