"""The pictures of the console in the documents show the present pages."""

import json

import pictures


def test_the_pictures_are_not_older_than_the_pages():
    recorded = json.loads(pictures.RECORD.read_text())["pages_and_scene"]
    assert recorded == pictures.digest(), "run ./dev golden pictures, look at docs/pictures/console-*.webp, and commit them"


def test_the_pictures_are_small_and_used():
    files = sorted(pictures.FOLDER.glob("console-*.webp"))
    assert [file.name for file in files] == sorted(pictures.NAMES)
    assert all(file.read_bytes()[8:12] == b"WEBP" for file in files)
    assert sum(file.stat().st_size for file in files) <= pictures.BYTES_MAX
    document = (pictures.ROOT / "docs/console.md").read_text()
    assert [name for name in pictures.NAMES if name not in document] == []
