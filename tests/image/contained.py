"""Runs an image's program as in a hardened cluster: as the image's user and PID 1, without capabilities, root read-only.

    python3 contained.py [--mount=HOST:INSIDE]... [--entrypoint=PATH] BUNDLE SCRATCH -- ARGUMENTS

BUNDLE is the output of `umoci unpack` for the image. SCRATCH is a folder that the program and the test share under the same
path; /tmp is a tmpfs. The program uses the host's network, so that tests can reach it. Signals are passed to the program, and
its exit code is returned.
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
    spec["linux"]["namespaces"] = [namespace for namespace in spec["linux"]["namespaces"] if namespace["type"] != "network"]
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
    options = parser.parse_args()
    options.scratch.chmod(0o777)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="contained-", dir=options.scratch))
    spec = spec_of(options.bundle, options.scratch, options.mount, options.entrypoint, options.arguments)
    (folder / "config.json").write_text(json.dumps(spec))
    # runc keeps its state in the scratch folder, where the test finds containers that it must remove.
    os.execvp("runc", ["runc", "--root", str(options.scratch / ".runc"), "run", "--bundle", str(folder), folder.name])


if __name__ == "__main__":
    main()
