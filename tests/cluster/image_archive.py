"""Writes files as an image archive for `docker load` and containerd, without a builder or a registry."""

import hashlib
import io
import json
import pathlib
import tarfile


def write_image(archive: pathlib.Path, name: str, files: dict, entrypoint: list, user: str = "65532"):
    """`files`: path in the image -> local path. The same input gives the same archive, byte for byte."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for target, source in sorted(files.items()):
            data = pathlib.Path(source).read_bytes()
            entry = tarfile.TarInfo(target.lstrip("/"))
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Entrypoint": entrypoint, "User": user},
                         "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}.tar"]}]).encode()
    with tarfile.open(archive, "w") as tar:
        for file, data in (("manifest.json", manifest), (config_name, config), (f"{digest}.tar", layer.getvalue())):
            entry = tarfile.TarInfo(file)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return archive
