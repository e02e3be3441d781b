"""The contents of the images, read with skopeo and other standard tools."""

import json
import pathlib
import re
import stat
import subprocess

import pytest
from images import REVISION, ROOT, VERSION
from image import COMPRESSED_BYTES_MAX, last_stage
from root import PROGRAMS, SHARED_FOLDERS, USER_ID

IMAGE_JSON = {
    "node": {"Entrypoint": ["/usr/bin/longshore-node"],
             "ExposedPorts": {f"{port}/tcp": {} for port in (8500, 8501, 8502, 8503)},
             "Env": ["PATH=/usr/bin", "MODEL_NAME=model", "MODEL_BASE_PATH=/models"]},
    "controller": {"Entrypoint": ["/usr/bin/longshore-controller"],
                   "ExposedPorts": {"8600/tcp": {}, "8610/tcp": {}}, "Env": ["PATH=/usr/bin"]},
}
FORMS = ["docker-archive:{archive}:longshore/{name}:{tag}", "oci-archive:{archive}:{tag}"]


def skopeo(*arguments) -> dict:
    return json.loads(subprocess.run(["skopeo", *arguments], check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("tag", [VERSION, "dev"])
@pytest.mark.parametrize("form", FORMS)
def test_skopeo_reads_both_archive_formats_by_both_tags(image, form, tag):
    reference = form.format(archive=image.archive, name=image.name, tag=tag)
    image_json = skopeo("inspect", "--config", reference)
    config = image_json["config"]
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in config.pop("Labels").items()}
    assert config == {**IMAGE_JSON[image.name], "User": f"{USER_ID}:{USER_ID}", "WorkingDir": "/", "StopSignal": "SIGTERM"}
    assert (labels["title"], labels["version"], labels["revision"]) == (f"longshore-{image.name}", VERSION, REVISION)
    assert (labels["licenses"], image_json["created"], image_json["os"]) == ("Apache-2.0", "2001-09-09T01:46:40Z", "linux")


@pytest.mark.parametrize("form", FORMS)
def test_skopeo_copies_the_image(image, form, tmp_path):
    """skopeo verifies all digests."""
    reference = form.format(archive=image.archive, name=image.name, tag=VERSION)
    subprocess.run(["skopeo", "--insecure-policy", "copy", "--quiet", reference, f"dir:{tmp_path}"], check=True)


def test_the_image_has_its_names_for_containerd(image):
    index = json.loads((image.layout / "index.json").read_text())
    assert [entry["annotations"]["io.containerd.image.name"] for entry in index["manifests"]] == \
        [f"docker.io/longshore/{image.name}:{tag}" for tag in (VERSION, "dev")]


def test_an_image_is_smaller_than_its_limit(image):
    assert image.archive.stat().st_size < COMPRESSED_BYTES_MAX


def test_an_image_has_its_programs_and_no_others(image):
    executable = {path for path, entry in image.entries().items() if entry.isfile() and entry.mode & 0o111}
    programs = {f"/usr/bin/{name}" for name in PROGRAMS[image.name]}
    assert {path for path in executable if ".so" not in path} == programs
    assert {pathlib.PurePosixPath(path).parent.as_posix() for path in executable - programs} <= \
        {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"}


def test_files_belong_to_root_and_only_root_may_change_them(image):
    for path, entry in image.entries().items():
        assert (entry.uid, entry.gid, entry.mtime) == (0, 0, 0), path
        if path.lstrip("/") in SHARED_FOLDERS:
            assert entry.isdir() and entry.mode == 0o1777, path
        elif not entry.issym():
            assert not entry.mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWGRP | stat.S_IWOTH), path
            assert entry.mode & 0o444 == 0o444, path
        assert entry.isfile() or entry.isdir() or entry.issym(), path


def test_every_library_has_its_license_and_version(image):
    entries = image.entries()
    packages = {path.split("/")[-1] for path in entries if path.startswith("/var/lib/dpkg/status.d/")}
    assert {"libc6", "libnghttp2-14", "libssl3", "ca-certificates"} <= packages
    assert ("libgrpc++1.51" in packages) == (image.name == "node")
    assert {f"/usr/share/doc/{package}/copyright" for package in {*packages, "longshore", "rapidjson-dev"}} <= set(entries)
    assert "/usr/share/doc/longshore/NOTICE" in entries
    assert {"/usr/share/common-licenses/GPL-3", "/usr/share/common-licenses/LGPL-2.1"} <= set(entries)
    status = (image.bundle / "rootfs/var/lib/dpkg/status.d/libssl3").read_text()
    assert re.search(r"^Version: 3\.", status, re.MULTILINE)


def test_programs_have_a_build_id_and_no_symbols(image):
    for name in PROGRAMS[image.name]:
        sections = subprocess.run(["readelf", "--sections", "--wide", image.bundle / "rootfs/usr/bin" / name], check=True,
                                  capture_output=True, text=True).stdout
        assert ".note.gnu.build-id" in sections
        assert ".symtab" not in sections and ".debug" not in sections


@pytest.mark.parametrize("name", PROGRAMS)
def test_dockerfiles_have_the_version(name):
    assert ("ARG", f"VERSION={VERSION}") in last_stage((ROOT / f"deploy/docker/Dockerfile.{name}").read_text())


def test_dockerfiles_have_the_same_build_stage():
    """So that Docker compiles only once for both."""
    first = {name: (ROOT / f"deploy/docker/Dockerfile.{name}").read_text().split("FROM")[1].splitlines() for name in PROGRAMS}
    assert [line.replace("controller", "node") for line in first["controller"]] == first["node"]
    assert first["controller"][:-3] == first["node"][:-3]
