"""The file SHA256SUMS can be verified with sha256sum."""

import pathlib
import subprocess

import checksums


def test_sha256sum_detects_a_changed_file(tmp_path: pathlib.Path):
    for name in ("b.tar", "a.deb"):
        (tmp_path / name).write_text(name)
    checksums.write(tmp_path)
    command = ["sha256sum", "--check", "--strict", checksums.NAME]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "a.deb: OK\nb.tar: OK\n"
    (tmp_path / "a.deb").write_text("changed")
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1
