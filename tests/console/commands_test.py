"""Commands in the console: who may give them, what the page shows, and what a page of another site or a stranger can do."""

import json
import urllib.error
import urllib.request

import pytest

from canary_scene import Scene
from console_test import Tab, violations_of

ADMIN, READER = "annas-token-is-long-enough", "bens-token-is-long-enough-too"
MODEL = "/api/v1/models/default/half"


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text(f"anna {ADMIN} admin\nben {READER} predict\n")
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
    [offer] = [one for one in scene.read(MODEL)["offers"] if one["verb"] == "abort"]
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
    path = f"{MODEL}/commands"
    assert send(scene, path, body, token="")[0] == 401
    assert send(scene, path, body, token=READER)[0] == 403
    assert send(scene, path, body, Origin="http://evil.test")[0] == 403
    assert send(scene, path, body, Host="evil.test")[0] == 421
    assert send(scene, path, body, **{"Content-Type": "text/plain"})[0] == 400
    assert send(scene, MODEL, body)[0] == 405
    assert send(scene, path, {"verb": "abort"})[0] == 400
    assert scene.it.phase("half") == "Paused"


def test_a_command_for_a_state_that_is_over_is_refused_with_the_reason(scene):
    body = abort_of(scene)
    body["seen"]["attempt"] -= 1
    status, answer = send(scene, f"{MODEL}/commands", body)
    assert status == 409 and "the command was for rollout 1 of this Model, but the last one is rollout 2" in answer["error"]
    assert scene.it.phase("half") == "Paused"


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
        tab.save_picture("model-commands")
        page.focus(".commands button:text('promote')")
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog")
        assert page.inner_text("dialog p").startswith("This will give version 2 all requests now.")
        assert violations_of(page, node_modules) == []
        tab.save_picture("model-confirm")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
        assert page.evaluate("document.activeElement.textContent") == "promote", "the focus is back"
        assert scene.it.phase("half") == "Paused"
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog")
        page.keyboard.press("Enter")
        page.wait_for_selector("section p[role=status]:has-text('promote: done')")
        page.wait_for_selector("text=promote, by anna")
        scene.it.wait_for_stable("half", 2)
        assert tab.problems == []
        assert tab.context.cookies() == []
        page.click("header button:text('Sign out')")
        page.wait_for_selector("header button:text('Sign in')")
        assert page.evaluate("sessionStorage.length") == 0


def test_after_ten_wrong_tokens_no_token_is_accepted(scene):
    """The last test, because no token is accepted for a minute."""
    statuses = {send(scene, f"{MODEL}/commands", {}, token=f"guess-number-{number:06}")[0] for number in range(11)}
    assert statuses == {401, 429}
    assert send(scene, f"{MODEL}/commands", {})[0] == 429
    assert scene.read("/api/v1/overview")["models"], "reading needs no token"
