"""Nodes that serve many small models each, because the start and the end of a node take longer than the test of a small model."""

import contextlib
import copy
import pathlib
from collections.abc import Callable, Iterator

from serving import Node, running_node

MODELS_PER_NODE = 20


class SharedNodes:
    """`exports`: the name of a model -> a function that writes the model to a version directory.

    The first test of a group of models exports all of them and starts a node for them. One node runs at a time. If a node ends, each
    model of its group gets its own node from then on, so that a model fails only by its own fault.
    """

    def __init__(self, scratch: pathlib.Path, exports: dict[str, Callable[[pathlib.Path], None]]):
        self._scratch, self._exports = scratch, exports
        self._ids = {name: f"model-{number}" for number, name in enumerate(exports)}
        self._failures: dict[str, Exception] = {}  # Of exports.
        self._served: list[str] = []
        self._split: set[str] = set()  # The models whose node has ended.
        self._starts = 0
        self._node: Node | None = None
        self._running = contextlib.ExitStack()

    def version_dir(self, name: str) -> pathlib.Path:
        return self._scratch / self._ids[name] / "1"

    def node_of(self, name: str) -> Node:
        """Returns the node that serves the model, as a client of this model. Raises the error of its export."""
        if self._node is not None and self._node.process.poll() is not None:
            self._split.update(self._served)
            with contextlib.suppress(AssertionError):  # The test that used the node last has failed.
                self.close()
        if name not in self._served:
            self.close()
            self._start([name] if name in self._split else self._group_of(name))
        if name in self._failures:
            raise self._failures[name]
        found = copy.copy(self._node)
        found.model = self._ids[name]
        return found

    def close(self) -> None:
        self._served, self._node = [], None
        running, self._running = self._running, contextlib.ExitStack()
        running.close()

    def _group_of(self, name: str) -> list[str]:
        names = list(self._exports)
        first = names.index(name) // MODELS_PER_NODE * MODELS_PER_NODE
        return names[first:first + MODELS_PER_NODE]

    def _start(self, names: list[str]) -> None:
        for name in names:
            if not self.version_dir(name).exists() and name not in self._failures:
                try:
                    self._exports[name](self.version_dir(name))
                except Exception as error:
                    self._failures[name] = error
        self._starts += 1
        folder = self._scratch / f"node-{self._starts}"
        folder.mkdir()
        configs = [f'config {{ name: "{self._ids[name]}" base_path: "{self.version_dir(name).parent}" model_platform: "tensorflow" }}\n'
                   for name in names if name not in self._failures]
        (folder / "models.config").write_text("model_config_list {\n" + "".join(configs) + "}\n")
        self._served = names
        self._node = self._running.enter_context(running_node(folder, "", None, f"--model_config_file={folder}/models.config"))


@contextlib.contextmanager
def shared_nodes(scratch: pathlib.Path, exports: dict[str, Callable[[pathlib.Path], None]]) -> Iterator[SharedNodes]:
    made = SharedNodes(scratch, exports)
    try:
        yield made
    finally:
        made.close()
