"""Builds the images of the programs under test as ./dev image does, and unpacks them with standard tools."""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", ROOT / "build/dev/bin"))

VERSION = re.search(r"^project\(longshore VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
REVISION, CREATED = "0123abc", "1000000000"


def build(name: str, output: pathlib.Path) -> pathlib.Path:
    subprocess.run([sys.executable, "-B", ROOT / "deploy/docker/image.py", name, f"--bin={BIN}", f"--output={output}",
                    f"--version={VERSION}", f"--revision={REVISION}"],
                   check=True, env={**os.environ, "SOURCE_DATE_EPOCH": CREATED})
    return output / f"longshore-{name}.tar"


@dataclasses.dataclass
class Image:
    name: str
    archive: pathlib.Path
    layout: pathlib.Path  # The unpacked archive, an OCI layout.
    bundle: pathlib.Path  # The OCI bundle from umoci: rootfs/ and config.json.

    def entries(self) -> dict[str, tarfile.TarInfo]:
        """All files of the layers by absolute path."""
        found = {}
        for blob in (self.layout / "blobs/sha256").iterdir():
            if blob.read_bytes()[:2] == b"\x1f\x8b":
                with tarfile.open(blob) as layer:
                    found |= {f"/{entry.name}": entry for entry in layer}
        return found

    def command(self, scratch: pathlib.Path, *options: str) -> list:
        """A command line that runs the image's program in a container; append the program's arguments."""
        return [sys.executable, "-B", ROOT / "tests/image/contained.py", *options, self.bundle, scratch, "--"]

    def run(self, scratch: pathlib.Path, *arguments: str, entrypoint: str = "", mounts=()) -> subprocess.CompletedProcess:
        options = [f"--entrypoint={entrypoint}"] if entrypoint else []
        options += [f"--mount={pair}" for pair in mounts]
        return subprocess.run([*self.command(scratch, *options), *arguments], capture_output=True, text=True, timeout=60,
                              check=False)


def make_image(name: str, folder: pathlib.Path) -> Image:
    image = Image(name, build(name, folder), folder / "layout", folder / "bundle")
    with tarfile.open(image.archive) as archive:
        archive.extractall(image.layout)
    subprocess.run(["umoci", "unpack", *([] if os.getuid() == 0 else ["--rootless"]), "--image", f"{image.layout}:{VERSION}",
                    image.bundle], check=True)
    return image
