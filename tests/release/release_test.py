"""A whole snapshot of the release from the programs under test: the same bytes each time, checksums, and what the package installs."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import release
import releases
from debian_package import PROGRAMS

BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", release.ROOT / "build/dev/bin"))
HELM = pathlib.Path(os.environ.get("LONGSHORE_KUBERNETES", "")) / "helm"
VERSION = f"{releases.project_version()}-snapshot"


def run(*command: str | pathlib.Path, **options) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, **options).stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> list[pathlib.Path]:
    """Two releases, made at the same time with different numbers of processors."""
    folders = [tmp_path_factory.mktemp("release") / "files" for _ in range(2)]
    running = [subprocess.Popen([*limit, sys.executable, "-B", release.__file__, "--snapshot", f"--bin={BIN}", f"--helm={HELM}", f"--output={folder}"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1900000000"})
               for folder, limit in zip(folders, ([], ["taskset", "--cpu-list", "0"]))]
    for process in running:
        output, _ = process.communicate(timeout=900)
        assert process.returncode == 0, output
    return folders


@pytest.fixture(scope="module")
def package(made: list[pathlib.Path]) -> pathlib.Path:
    (path,) = made[0].glob("longshore_*.deb")
    return path


def test_the_same_programs_give_the_same_bytes(made: list[pathlib.Path]):
    names = [sorted(path.name for path in folder.iterdir()) for folder in made]
    assert names[0] == names[1]
    assert {"RELEASE_NOTES.md", "SHA256SUMS", f"longshore-{VERSION}.tgz", f"longshore-{VERSION}.spdx.json", f"longshore-node-{VERSION}.tar",
            f"longshore-controller-{VERSION}.tar"} < set(names[0])
    assert [name for name in names[0] if (made[0] / name).read_bytes() != (made[1] / name).read_bytes()] == []


def test_the_checksums_are_those_of_the_files(made: list[pathlib.Path]):
    checked = run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=made[0]).splitlines()
    assert len(checked) == len(list(made[0].iterdir())) - 1 and all(line.endswith(": OK") for line in checked)


def test_the_package_lists_programs_pages_service_and_notice(package: pathlib.Path):
    listed = {line.split(None, 5)[5].split(" -> ")[0] for line in run("dpkg-deb", "--contents", package).splitlines()}
    assert {f"./usr/bin/{name}" for name in (*PROGRAMS, "kubectl-longshore")} <= listed
    assert {f"./usr/share/man/man1/{name}.1.gz" for name in (*PROGRAMS, "kubectl-longshore")} <= listed
    assert {"./lib/systemd/system/longshore-node.service", "./usr/share/doc/longshore/NOTICE", "./usr/share/doc/longshore/copyright"} <= listed


def test_the_unpacked_programs_run_with_the_libraries_of_the_package(package: pathlib.Path, tmp_path: pathlib.Path):
    run("dpkg", "--extract", package, tmp_path)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path / "usr/lib/longshore")}
    for name in ("longshore", "kubectl-longshore", "longshore-controller", "longshore-model", "longshore-node"):
        assert re.search(rf"\b{releases.project_version()}\b", run(tmp_path / "usr/bin" / name, "--version", env=environment))
    libraries = run("ldd", tmp_path / "usr/bin/longshore-node", env=environment)
    assert f"libdnnl.so.3 => {tmp_path}/usr/lib/longshore/" in libraries and "not found" not in libraries


def test_the_version_of_a_snapshot_is_older_than_that_of_the_release(package: pathlib.Path):
    version = run("dpkg-deb", "--field", package, "Version").strip()
    subprocess.run(["dpkg", "--compare-versions", version, "lt", releases.project_version()], check=True)
