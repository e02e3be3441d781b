"""The section of CHANGELOG.md that describes one release."""

import re

_HEADING = re.compile(r"^## \[([^\]]+)\].*$", re.MULTILINE)


def section(changelog: str, name: str) -> str | None:
    """The text below the heading `## [name]`, without the heading; None if the changelog has no such heading or no text below it."""
    headings = list(_HEADING.finditer(changelog))
    for heading, following in zip(headings, [*headings[1:], None]):
        if heading[1] == name:
            return changelog[heading.end():following.start() if following else None].strip() or None
    return None


def release_notes(changelog: str, version: str, snapshot: bool) -> str:
    """The text of RELEASE_NOTES.md: for a release, the section of its version; for a snapshot, what has changed so far."""
    text = section(changelog, version)
    if snapshot:
        # On the commit of a release and on the one after it, nothing is unreleased.
        text = section(changelog, "Unreleased") or section(changelog, version.removesuffix("-snapshot")) or "No changes yet."
    if text is None:
        raise SystemExit(f"release: CHANGELOG.md has no section [{version}]: rename the section Unreleased to [{version}] with the date, or make "
                         "a snapshot with --snapshot")
    title = f"Longshore {version}" + (", snapshot before the release" if snapshot else "")
    return f"# {title}\n\n{text}\n"
