#!/usr/bin/env python3
"""Makes the files of a release from compiled programs; docs/releasing.md describes them.

    ./dev release              the version of CMakeLists.txt, from a clean working tree, with its section of CHANGELOG.md
    ./dev release --snapshot   a snapshot before the release, with the section "Unreleased"

The files are the container images, the Debian package, the Helm chart, the software bill of materials (SPDX), RELEASE_NOTES.md and
SHA256SUMS.
The same programs and the same commit give the same bytes.
"""

import argparse
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "deploy/docker"))

import chart_archive  # noqa: E402
import checksums  # noqa: E402
import debian_package  # noqa: E402
import notes  # noqa: E402
import releases  # noqa: E402
import root  # noqa: E402
import sbom  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Release:
    version: str  # As in names of files, tags of images and the chart: 0.1.0, or 0.1.0-snapshot.
    revision: str  # The commit; `unknown` outside of a git checkout.
    epoch: int  # Time of all files, in seconds since 1970.
    programs: pathlib.Path

    @property
    def debian_version(self) -> str:
        """Debian sorts 0.1.0~snapshot before 0.1.0."""
        return self.version.replace("-", "~")


def git(*words: str) -> str | None:
    """The output of git in the source folder; None if git fails, for example outside of a checkout."""
    ran = subprocess.run(["git", "-C", ROOT, *words], check=False, capture_output=True, text=True)
    return ran.stdout.strip() if ran.returncode == 0 else None


def plan(programs: pathlib.Path | None, snapshot: bool) -> Release:
    """Collects what the release is made from; `programs` None: the folder into which ./dev builds them. Needs no compiled program.

    Ends with a message if such a release is not possible from here.
    """
    version = releases.project_version(ROOT)
    changed = git("status", "--porcelain")
    if programs and not snapshot:
        raise SystemExit("release: --bin is possible only together with --snapshot: a release needs programs that ./dev release builds from the commit")
    if not snapshot and changed is None:
        raise SystemExit("release: this folder is not a git checkout: release from a checkout, or make a snapshot with --snapshot")
    if not snapshot and changed:
        raise SystemExit(f"release: the working tree has changes: commit them, or make a snapshot with --snapshot\n{changed}")
    check_record(version, releases.read())
    revision = git("describe", "--always", "--abbrev=40", "--dirty", "--exclude=*") or "unknown"
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or 0)
    return Release(version + ("-snapshot" if snapshot else ""), revision, epoch, (programs or ROOT / "build/release/bin").resolve())


def check_record(version: str, recorded: list[releases.Release]) -> None:
    """A version is released once: a tree with a row for its own version has other files than the release, whose tree has no such row."""
    released = next((it for it in recorded if it.version == version), None)
    if released:
        raise SystemExit(f"release: {version} was released from commit {released.commit} (deploy/release/releases.yaml), and a snapshot would be "
                         f"older than it: set the next version with ./dev version")


def check_programs(programs: pathlib.Path, version: str) -> None:
    needed = {*debian_package.PROGRAMS, *(name for names in root.PROGRAMS.values() for name in names)}
    missing = sorted(name for name in needed if not (programs / name).is_file())
    if missing:
        raise SystemExit(f"release: {programs} has no {', '.join(missing)}: run ./dev build release, or name another folder with --bin")
    shown = subprocess.run([programs / "longshore", "--version"], check=False, capture_output=True, text=True).stdout.strip()
    if shown != f"longshore {version}":
        raise SystemExit(f'release: {programs}/longshore has the version "{shown}", CMakeLists.txt has {version}: build it again')


def make_images(release: Release, output: pathlib.Path) -> None:
    for name in root.PROGRAMS:
        subprocess.run([sys.executable, "-B", ROOT / "deploy/docker/image.py", name, f"--bin={release.programs}", f"--output={output}",
                        f"--version={release.version}", f"--revision={release.revision}"],
                       check=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(release.epoch)})
        (output / f"longshore-{name}.tar").rename(output / f"longshore-{name}-{release.version}.tar")


def make(release: Release, text: str, helm: pathlib.Path, output: pathlib.Path) -> None:
    """Writes all files of the release into the empty folder `output`."""
    (output / "RELEASE_NOTES.md").write_text(text, encoding="utf-8")
    chart_archive.package(helm, release.version, release.epoch, output)
    debian_package.build(release.programs, release.debian_version, release.epoch, output)
    sbom.write(release.programs, release.version, release.epoch, output)
    make_images(release, output)
    checksums.write(output)


def check_output(output: pathlib.Path) -> None:
    """The folder may be missing, empty or an earlier release, which is replaced."""
    if output.exists() and (not output.is_dir() or any(output.iterdir()) and not (output / checksums.NAME).exists()):
        raise SystemExit(f"release: {output} has files that are not of a release: name another folder with --output")


def replace(output: pathlib.Path, made: pathlib.Path) -> None:
    if output.exists():
        shutil.rmtree(output)
    made.chmod(0o755)
    made.rename(output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, help="folder of the compiled programs, only with --snapshot (default: build/release/bin)")
    parser.add_argument("--output", type=pathlib.Path, help="folder to write (default: build/release-VERSION)")
    parser.add_argument("--helm", default=shutil.which("helm"), help="the program helm (default: from PATH)")
    parser.add_argument("--snapshot", action="store_true", help="make a snapshot before the release")
    parser.add_argument("--check", action="store_true", help="check everything that needs no compiled program, and make no file")
    arguments = parser.parse_args()
    os.umask(0o022)
    release = plan(arguments.bin, arguments.snapshot)
    text = notes.release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), release.version, arguments.snapshot)
    output = (arguments.output or ROOT / f"build/release-{release.version}").resolve()
    check_output(output)
    if arguments.check:
        return
    check_programs(release.programs, releases.project_version(ROOT))
    if not arguments.helm or not os.access(arguments.helm, os.X_OK):
        raise SystemExit("release: helm was not found: run ./dev setup release, or name it with --helm")
    output.parent.mkdir(parents=True, exist_ok=True)
    # A release that fails half-way leaves no folder that looks complete.
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent, ignore_cleanup_errors=True) as folder:
        staging = pathlib.Path(folder) / "release"
        staging.mkdir()
        make(release, text, arguments.helm, staging)
        replace(output, staging)
    print(f"{output}\n" + "".join(f"  {path.name}  {path.stat().st_size / 1e6:.1f} MB\n" for path in sorted(output.iterdir())), end="")


if __name__ == "__main__":
    main()
