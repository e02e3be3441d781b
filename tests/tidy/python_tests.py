"""Rules for the tests in Python: their names, and that each of them is run by something."""

import re

from findings import Finding

_LISTS = re.compile(r"^readonly PROGRAM_TESTS=\(\n(.*?)\)$", re.MULTILINE | re.DOTALL)


def folders_of_dev(root):
    """The folders whose tests `./dev test` runs with pytest."""
    return _LISTS.search((root / "dev").read_text(encoding="utf-8"))[1].replace('"', " ").split()


def is_below(path, place):
    return path == place or path.startswith(place + "/")


def check(root, everything, limits):
    """Tests are named NAME_test.py. Each is below a folder of PROGRAM_TESTS in ./dev, or below a place of `python_tests_elsewhere`."""
    for path in everything:
        if path.startswith("tests/") and re.search(r"(^|/)test_\w+\.py$", path):
            yield Finding(path, 0, "the file has another name than the other tests", "name it NAME_test.py")
    tests = [path for path in everything if path.endswith("_test.py")]
    elsewhere = limits["python_tests_elsewhere"]
    places = [*folders_of_dev(root), *elsewhere]
    for path in tests:
        if not any(is_below(path, place) for place in places):
            fix = "add its folder to PROGRAM_TESTS in ./dev, or to python_tests_elsewhere in tests/tidy/limits.yaml"
            yield Finding(path, 0, "nothing runs this test", fix)
    for place in places:
        if not any(is_below(path, place) for path in tests):
            yield Finding("dev", 0, f"{place} has no tests, but a run of tests names it", f"remove {place}")
    for place, runner in elsewhere.items():
        if not (root / runner).exists() or place.rpartition("/")[2] not in runner + (root / runner).read_text(encoding="utf-8"):
            yield Finding("tests/tidy/limits.yaml", 0, f"{runner} does not run {place}", "name the file that runs the test")
