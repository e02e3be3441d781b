"""SHA256SUMS: the file that `sha256sum --check SHA256SUMS` reads."""

import hashlib
import pathlib

NAME = "SHA256SUMS"


def write(folder: pathlib.Path) -> None:
    """Writes the checksums of all other files of the folder, sorted by name."""
    lines = []
    for path in sorted(folder.iterdir()):
        if path.name != NAME:
            with path.open("rb") as file:
                lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    (folder / NAME).write_text("".join(lines), encoding="utf-8")
