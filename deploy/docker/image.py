#!/usr/bin/env python3
"""Makes an image without Docker: applies the last stage of its Dockerfile to the folders that root.py makes.

    deploy/docker/image.py node --bin=build/release/bin --version=0.1.0 --revision=abc --output=build/image

The archive is an OCI layout and a `docker save` in one file, as Docker itself writes it, so containerd, Docker, Podman, kind and
skopeo can load it, and the digest is known without loading it. The same inputs give the same bytes.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import shlex
import string
import tarfile
import tempfile
import time

import root

COMPRESSED_BYTES_MAX = 60_000_000

HERE = pathlib.Path(__file__).resolve().parent
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
OCI = "application/vnd.oci.image"


class Stage:
    """The last stage of a Dockerfile: the config of the image, and the folders of its layers."""

    def __init__(self, dockerfile: pathlib.Path, arguments: dict[str, str]):
        self.config: dict = {}
        self.folders: list[pathlib.PurePosixPath] = []
        self.defaults: dict[str, str] = {}
        for instruction, rest in last_stage(dockerfile.read_text()):
            if instruction == "ARG":
                name, _, default = rest.partition("=")
                self.defaults[name] = default
            else:
                self.take(instruction, string.Template(rest).substitute(self.defaults | arguments))

    def take(self, instruction: str, rest: str) -> None:
        if instruction == "COPY":
            option, folder, target = rest.split()
            if (option, target) != ("--from=build", "/"):
                raise SystemExit(f"image.py: unsupported instruction: COPY {rest}")
            self.folders.append(pathlib.PurePosixPath(folder))
        elif instruction == "LABEL":
            self.config["Labels"] = dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif instruction == "ENV":
            self.config["Env"] = shlex.split(rest)
        elif instruction == "EXPOSE":
            self.config["ExposedPorts"] = {f"{port}/tcp": {} for port in rest.split()}
        elif instruction == "ENTRYPOINT":
            self.config["Entrypoint"] = json.loads(rest)
        elif instruction in ("USER", "WORKDIR", "STOPSIGNAL"):
            names = {"USER": "User", "WORKDIR": "WorkingDir", "STOPSIGNAL": "StopSignal"}
            self.config[names[instruction]] = rest
        else:
            raise SystemExit(f"image.py: unsupported instruction: {instruction} {rest}")


def last_stage(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    instructions = [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]
    begin = max(at for at, (word, _) in enumerate(instructions) if word == "FROM")
    if instructions[begin] != ("FROM", "scratch"):
        raise SystemExit("image.py: the last stage must be FROM scratch")
    return instructions[begin + 1:]


class Blobs(dict):
    """The files of the archive, by path."""

    def add(self, media_type: str, content: bytes) -> dict:
        digest = hashlib.sha256(content).hexdigest()
        self[f"blobs/sha256/{digest}"] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def tar_of(folder: pathlib.Path) -> bytes:
    """The folder as a tar: entries are sorted, owned by root, with time 0, so that only names, modes and contents matter."""
    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, path.relative_to(folder), recursive=False, filter=plain)
    return buffer.getvalue()


def add_image(blobs: Blobs, stage: Stage, folders: list[pathlib.Path], created: str) -> tuple[dict, dict]:
    """Returns the descriptors of its manifest and of its config."""
    layers, unpacked = [], []
    for folder in folders:
        tar = tar_of(folder)
        layers.append(blobs.add(f"{OCI}.layer.v1.tar+gzip", gzip.compress(tar, compresslevel=6, mtime=0)))
        unpacked.append(f"sha256:{hashlib.sha256(tar).hexdigest()}")
    config = blobs.add(f"{OCI}.config.v1+json", as_json({
        "created": created, "architecture": ARCHITECTURES[platform.machine()], "os": "linux", "config": stage.config,
        "rootfs": {"type": "layers", "diff_ids": unpacked},
        "history": [{"created": created, "created_by": f"COPY {folder.name} /"} for folder in folders]}))
    manifest = blobs.add(f"{OCI}.manifest.v1+json", as_json({
        "schemaVersion": 2, "mediaType": f"{OCI}.manifest.v1+json", "config": config, "layers": layers}))
    return manifest, config


def add_indexes(blobs: Blobs, manifest: dict, config: dict, layers: list[dict], names: list[str]) -> None:
    blobs["oci-layout"] = as_json({"imageLayoutVersion": "1.0.0"})
    blobs["index.json"] = as_json({
        "schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json",
        "manifests": [manifest | {"annotations": {"io.containerd.image.name": f"docker.io/{name}",
                                                  "org.opencontainers.image.ref.name": name.rpartition(":")[2]}}
                      for name in names]})
    blobs["manifest.json"] = as_json([{"Config": path_of(config), "RepoTags": names,
                                       "Layers": [path_of(layer) for layer in layers]}])


def path_of(descriptor: dict) -> str:
    return "blobs/" + descriptor["digest"].replace(":", "/")


def as_json(value) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def write_archive(blobs: Blobs, path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(blobs):
            entry = tarfile.TarInfo(name)
            entry.size = len(blobs[name])
            archive.addfile(entry, io.BytesIO(blobs[name]))


def build(arguments: argparse.Namespace) -> None:
    stage = Stage(HERE / f"Dockerfile.{arguments.image}", {"VERSION": arguments.version, "REVISION": arguments.revision})
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    blobs = Blobs()
    with tempfile.TemporaryDirectory(prefix="longshore-image-") as made:
        root.lay_out(arguments.image, arguments.bin, pathlib.Path(made))
        manifest, config = add_image(blobs, stage, [pathlib.Path(made) / folder.name for folder in stage.folders], created)
    layers = json.loads(blobs[path_of(manifest)])["layers"]
    size = sum(part["size"] for part in [manifest, config, *layers])
    if size > COMPRESSED_BYTES_MAX:
        raise SystemExit(f"image.py: image {arguments.image} has {size:,} bytes compressed, the limit is {COMPRESSED_BYTES_MAX:,}")
    names = [f"longshore/{arguments.image}:{tag}" for tag in (arguments.version, "dev")]
    add_indexes(blobs, manifest, config, layers, names)
    path = arguments.output / f"longshore-{arguments.image}.tar"
    write_archive(blobs, path)
    parts = " + ".join(f"{layer['size'] / 1e6:.1f}" for layer in layers)
    print(f"{path}\n  {names[0]}, {names[1].rpartition(':')[2]}\n  {manifest['digest']}\n"
          f"  {size / 1e6:.1f} MB compressed (layers {parts}), at most {COMPRESSED_BYTES_MAX / 1e6:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", choices=root.PROGRAMS)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the compiled programs")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder for the archive")
    parser.add_argument("--version", required=True, help="tag of the image, in addition to `dev`")
    parser.add_argument("--revision", default="unknown", help="commit from which the image is made")
    os.umask(0o022)
    build(parser.parse_args())


if __name__ == "__main__":
    main()
