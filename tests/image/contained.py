"""Runs an image's program as a careful cluster does: as the image's user and PID 1, without any capability, root read-only.

    python3 contained.py [--mount=HOST:INSIDE]... [--entrypoint=PATH] BUNDLE SCRATCH -- ARGUMENTS

BUNDLE is what `umoci unpack` made of the image. SCRATCH is a folder that program and test share, under one name; /tmp is
memory. The network is the host's, so that a test can ask the program. Signals go to the program, its exit code comes back.
"""

import argparse
import json
import os
import pathlib
import tempfile


def mount(source: pathlib.Path | str, target: str, *options: str) -> dict:
    return {"source": str(source), "destination": target, "type": "bind", "options": ["rbind", "nosuid", "nodev", *options]}


def spec_of(bundle: pathlib.Path, scratch: pathlib.Path, mounts: list[str], entrypoint: str, arguments: list[str]) -> dict:
    spec = json.loads((bundle / "config.json").read_text())
    process = spec["process"]
    process["terminal"] = False
    process["capabilities"] = {}
    process["args"] = ([entrypoint] if entrypoint else process["args"]) + arguments
    spec["root"] = {"path": str(bundle / "rootfs"), "readonly": True}
    spec["linux"]["namespaces"] = [it for it in spec["linux"]["namespaces"] if it["type"] != "network"]
    spec["mounts"] += [{"source": "tmpfs", "destination": "/tmp", "type": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]},
                       mount(scratch, str(scratch), "rw")]
    spec["mounts"] += [mount(*pair.split(":"), "ro") for pair in mounts]
    return spec


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bundle", type=pathlib.Path)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--mount", action="append", default=[])
    parser.add_argument("--entrypoint", default="")
    parser.add_argument("arguments", nargs="*")
    given = parser.parse_args()
    given.scratch.chmod(0o777)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="contained-", dir=given.scratch))
    spec = spec_of(given.bundle, given.scratch, given.mount, given.entrypoint, given.arguments)
    (folder / "config.json").write_text(json.dumps(spec))
    # The state of runc lies in the scratch folder, where the test finds a container that it must end by force.
    os.execvp("runc", ["runc", "--root", str(given.scratch / ".runc"), "run", "--bundle", str(folder), folder.name])


if __name__ == "__main__":
    main()
