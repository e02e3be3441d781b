"""The release notes are the section of the version in the changelog."""

import notes
import pytest

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n- New.\n\n## [0.2.0] - 2030-01-31\n\n### Added\n- Two.\n\n## [0.1.0] - 2029-01-31\n- One.\n"


def test_the_notes_of_a_release_are_the_section_of_its_version():
    assert notes.release_notes(CHANGELOG, "0.2.0", snapshot=False) == "# Longshore 0.2.0\n\n### Added\n- Two.\n"
    assert notes.release_notes(CHANGELOG, "0.1.0", snapshot=False) == "# Longshore 0.1.0\n\n- One.\n"


def test_a_snapshot_has_the_unreleased_section():
    assert notes.release_notes(CHANGELOG, "0.3.0-snapshot", snapshot=True).endswith("\n\n- New.\n")


def test_a_release_without_a_section_for_its_version_is_rejected():
    with pytest.raises(SystemExit, match=r"no section \[0.3.0\]: rename the section Unreleased"):
        notes.release_notes(CHANGELOG, "0.3.0", snapshot=False)


def test_an_empty_section_is_rejected():
    with pytest.raises(SystemExit, match=r"no section \[0.2.0\]"):
        notes.release_notes("## [Unreleased]\n- New.\n\n## [0.2.0]\n\n## [0.1.0]\n- One.\n", "0.2.0", snapshot=False)


def test_a_snapshot_is_possible_when_nothing_is_unreleased():
    changelog = "## [Unreleased]\n\n## [0.1.0]\n- One.\n"
    assert notes.release_notes(changelog, "0.1.0-snapshot", snapshot=True).endswith("\n\n- One.\n")
    assert notes.release_notes(changelog, "0.2.0-snapshot", snapshot=True).endswith("\n\nNo changes yet.\n")
