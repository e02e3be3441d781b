"""A page of the console in a real browser, and what the tests find on it."""

import json

from canary_scene import LONG, MODEL

PATHS = {"overview": "/", "model": f"/models/default/{MODEL}", "fleet": "/fleets/default/cpu", "hostile": f"/models/default/{LONG}"}


class Tab:
    """A page of the browser that remembers what went wrong in it."""

    def __init__(self, browser, scene, **options):
        self.scene = scene
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.problems = []
        self.foreign = []
        self.page.on("console", lambda message: self.problems.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: None if request.url.startswith(scene.url) else self.foreign.append(request.url))

    def __enter__(self):
        return self

    def __exit__(self, *_failure):
        self.page.unroute_all(behavior="ignoreErrors")  # An answer may be on its way to change_answers.
        self.context.close()

    def open(self, name):
        self.page.goto(self.scene.url + PATHS[name])
        self.page.wait_for_selector("h2")
        if name in ("model", "hostile"):
            self.page.wait_for_selector("text=The last hour")

    def is_shown(self, is_shown):
        """What the page learns when another tab is in front of it."""
        self.page.evaluate(f"window.isHidden = {json.dumps(not is_shown)}; document.dispatchEvent(new Event('visibilitychange'))")

    def change_answers(self, change):
        """Answers of the controller come as `change(path, json)` leaves them."""

        def answer(route):
            response = route.fetch()
            data = response.json()
            change(route.request.url.removeprefix(self.scene.url), data)
            route.fulfill(response=response, json=data)

        self.page.route("**/api/v1/**", answer)


def violations_of(page, node_modules):
    """What axe-core finds, of any impact."""
    # The page's policy forbids scripts in it; those of the test come through the debugger.
    page.evaluate((node_modules / "axe-core/axe.min.js").read_text())
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 10, "axe has looked at something"
    return [(one["id"], one["impact"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]


def graph(tab, title):
    return tab.page.wait_for_selector(f"figure:has(figcaption:text('{title}'))")


def section(tab, title):
    return tab.page.wait_for_selector(f"section:has(h2:text('{title}'))")
