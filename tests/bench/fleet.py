"""A fleet with a controller that serves one model. Controller and nodes run on the processor of the servers."""

import contextlib
import json
import pathlib
import tempfile

from processes import BIN, server, wait_for

MANIFESTS = """apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {{name: main}}
spec:
  replicas: {{min: {nodes}, max: {nodes}}}
  ports: {{grpc: 0, rest: 0}}
---
apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {{name: {name}}}
spec:
  fleet: main
  source: {{uri: "file://{source}"}}
  version: 1
"""


class Fleet:
    def __init__(self, manifests: pathlib.Path):
        self.objects = manifests / ".longshore/objects"

    def status(self, kind: str, name: str) -> dict:
        try:
            return json.loads((self.objects / kind / "default" / f"{name}.json").read_text()).get("status") or {}
        except FileNotFoundError:
            return {}

    def ready_nodes(self) -> dict[str, int]:
        """Returns node name -> process id of the ready nodes."""
        nodes = self.status("ServingFleet", "main").get("nodes", [])
        return {node["name"]: node["pid"] for node in nodes if node["state"] == "Ready"}

    def address(self, protocol: str) -> str:
        return self.status("ServingFleet", "main")[f"{protocol}Address"]


@contextlib.contextmanager
def fleet(nodes: int, name: str, source: pathlib.Path):
    """Yields a fleet whose nodes all serve version 1."""
    with tempfile.TemporaryDirectory(prefix="ls_") as folder:
        manifests = pathlib.Path(folder) / "manifests"
        manifests.mkdir()
        (manifests / "all.yaml").write_text(MANIFESTS.format(nodes=nodes, name=name, source=source))
        with open(pathlib.Path(folder) / "log", "wb") as log, \
                server(BIN / "longshore-controller", f"--state_dir={folder}/state", f"--manifests={manifests}",
                       "--admin_port=0", "--no-console", "--stop-nodes-on-exit", log=log):
            made = Fleet(manifests)
            wait_for(lambda: len(made.ready_nodes()) == nodes, f"{nodes} nodes")
            wait_for(lambda: made.status("Model", name).get("stableVersion") == 1, f"{name} to be served")
            yield made
