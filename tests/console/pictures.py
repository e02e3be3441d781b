"""The pictures of the console in docs/pictures. `./dev golden pictures` takes them again, in a run of console_test.py.

docs/pictures/console.json has a digest of what the pictures show: the built pages and the scene. If one of them changes, the pictures must be
taken again; pictures_test.py compares them. Run as a program, this writes the digest.
"""

import base64
import hashlib
import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/pictures"
RECORD = FOLDER / "console.json"
NAMES = [f"console-{page}-{theme}.webp" for page in ("overview", "canary", "aborted", "fleet") for theme in ("light", "dark")]
BYTES_MAX = 460_000  # The limit for all pictures together. Their size differs from run to run: a rollout that is aborted early shows no pairs.
WIDTH = 1200
HEIGHT = 700
HEIGHT_MAX = 1420  # What is below it is left out.
QUALITY = 0.42
# A browser can write WebP, which is a quarter of the size of its PNG.
TO_WEBP = """async ([png, quality]) => {
  const image = new Image();
  image.src = "data:image/png;base64," + png;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""


def digest():
    files = sorted((ROOT / "controller/console/dist").iterdir()) + [ROOT / "tests/console/canary_scene.py", pathlib.Path(__file__)]
    total = hashlib.sha256()
    for file in files:
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def save(browser, page, name):
    """Saves the page in both themes, if a folder for pictures is set."""
    folder = os.environ.get("LONGSHORE_PICTURES")
    if not folder:
        return
    writer = browser.new_page()
    before = page.viewport_size
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        height = min(page.evaluate("document.documentElement.scrollHeight"), HEIGHT_MAX)
        png = base64.b64encode(page.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})).decode()
        webp = base64.b64decode(writer.evaluate(TO_WEBP, [png, QUALITY]))
        (pathlib.Path(folder) / f"console-{name}-{theme}.webp").write_bytes(webp)
    page.set_viewport_size(before)
    writer.close()


if __name__ == "__main__":
    RECORD.write_text(json.dumps({"pages_and_scene": digest()}) + "\n")
