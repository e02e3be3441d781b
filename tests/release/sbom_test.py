"""The software bill of materials lists every library that the programs use."""

import json
import os
import pathlib

import root
import sbom
from debian_package import PROGRAMS

BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", root.LICENSE.with_name("build") / "dev/bin"))


def test_every_linked_package_is_listed_and_related(tmp_path: pathlib.Path):
    sbom.write(BIN, "0.1.0", 1_000_000_000, tmp_path)
    document = json.loads((tmp_path / "longshore-0.1.0.spdx.json").read_text())
    listed = {entry["name"] for entry in document["packages"]}
    libraries = root.libraries_of([BIN / name for name in PROGRAMS])
    linked = root.packages_of([entry for entry in libraries if entry == root.path_in_image(entry)])
    assert {"longshore", "onednn-cpu-gomp", "rapidjson-dev", "preact", *linked} <= listed
    assert not {"esbuild", "typescript"} & listed, "they only build the pages"
    assert {entry["relatedSpdxElement"] for entry in document["relationships"]} == {entry["SPDXID"] for entry in document["packages"]}
    assert all(entry["versionInfo"] for entry in document["packages"])
