"""Effects on clients of swaps, restarts, and loads of other models; and memory after reloads."""

import contextlib
import os
import pathlib
import signal
import tempfile
import time

from fleet import fleet
from models import made_model
from tail import pooled_p999_ms, tail_rows
from processes import MODELS, Node, node, say, traffic, wait_for
from rows import row, row_of_rounds

DIGITS = ("--model=digits", "--input=image", "--shape=1,8,8,1")
# The longest that a user should wait while a version or a node is replaced.
SWAP_P999_MAX_MS, SWAP_LONGEST_MAX_MS = 25, 100
RESTART_P999_MAX_MS, RESTART_LONGEST_MAX_MS = 50, 500


class Configured:
    """A node with a config file that selects the version of each model."""

    def __init__(self, file: pathlib.Path, models: dict[str, pathlib.Path]):
        self.file, self.models, self.versions = file, models, {name: 1 for name in models}
        self.node: Node | None = None
        self.write()

    def write(self) -> None:
        text = "".join(f'config {{ name: "{name}" base_path: "{path}" model_platform: "tensorflow" '
                       f"model_version_policy {{ specific {{ versions: {self.versions[name]} }} }} }}\n"
                       for name, path in self.models.items())
        temporary = self.file.with_suffix(".new")
        temporary.write_text(f"model_config_list {{\n{text}}}\n")
        temporary.rename(self.file)

    def swap(self, name: str, version: int, exclusive: bool = False, pause: float = 0.002) -> None:
        """Returns once the version is available; if `exclusive`, once it is the only one. Checks every `pause` seconds."""
        self.versions[name] = version
        self.write()

        def swapped() -> bool:
            seen = self.node.available(name)
            return seen == [version] if exclusive else version in seen
        wait_for(swapped, f"version {version} of {name}", pause=pause)


@contextlib.contextmanager
def configured(**models: pathlib.Path):
    with tempfile.TemporaryDirectory() as folder:
        made = Configured(pathlib.Path(folder) / "models.config", models)
        with node(f"--model_config_file={made.file}", "--model_config_file_poll_wait_seconds=0.005") as made.node:
            yield made


def failures(final: dict) -> int:
    """Returns the number of requests that did not get exactly one correct answer."""
    if final["failed"]:
        say(f"  failed: {final['failures']}")
    return final["failed"] + final["unanswered"] + final["answered_twice"] + final["version_disputed"]


def swap_rows(swaps: int):
    say(f"{swaps} swaps under load")
    with configured(digits=MODELS / "digits") as made:
        both = (f"--grpc=127.0.0.1:{made.node.grpc}", f"--rest=127.0.0.1:{made.node.rest}", "--rest_share=0.5")
        with traffic(*both, *DIGITS, "--rate=300", "--deadline_ms=10000") as load:
            for count in range(1, swaps + 1):
                made.swap("digits", 1 + count % 2)
                if count % 200 == 0:
                    say(f"  {count} swaps")
            final = load.stop()
        yield row(f"{swaps} swaps, failed of {final['sent']} requests", "", failures(final), 0, "<= 0")
        yield from tail_rows(f"{swaps} swaps", final, SWAP_P999_MAX_MS, SWAP_LONGEST_MAX_MS)


def resident_at_rest(ours: Node) -> int:
    time.sleep(3)  # The allocator returns freed memory within two seconds.
    return ours.resident_bytes()


def reload_rows(reloads: int):
    early = 10
    say(f"memory after {reloads} reloads")
    with configured(digits=MODELS / "digits") as made:
        for count in range(1, reloads + 1):
            made.swap("digits", 1 + count % 2, exclusive=True)
            if count == early:
                before = resident_at_rest(made.node)
        after = resident_at_rest(made.node)
    yield row(f"memory after {reloads} reloads, MB", f"after {early}", after / 1e6, before / 1e6, "<= 1.02")


def restart_rows(restarts: int):
    say(f"{restarts} restarts in a fleet of two")
    with fleet(2, "digits", MODELS / "digits") as ours:
        with traffic(f"--grpc={ours.address('grpc')}", f"--rest={ours.address('rest')}", "--rest_share=0.5", *DIGITS,
                     "--rate=200", "--fresh_connections", "--deadline_ms=10000") as load:
            for count in range(1, restarts + 1):
                wait_for(lambda: len(ours.ready_nodes()) == 2, "both nodes to be ready")
                before = ours.ready_nodes()
                name = sorted(before)[count % 2]
                os.kill(before[name], signal.SIGTERM)
                wait_for(lambda: ours.ready_nodes().get(name, before[name]) != before[name], f"node {name} to be ready again")
                if count % 100 == 0:
                    say(f"  {count} restarts")
            final = load.stop()
        yield row(f"{restarts} restarts, failed of {final['sent']} requests on new connections", "", failures(final), 0, "<= 0")
        yield from tail_rows(f"{restarts} restarts", final, RESTART_P999_MAX_MS, RESTART_LONGEST_MAX_MS)


def neighbour_rows(quick: bool):
    pairs, seconds, rate = (4, 4, 1000) if quick else (12, 5, 1000)
    say("steady traffic while another model of 64 MB loads and unloads")
    with configured(default=MODELS / "half_plus_two_tf2", big=made_model("wide", 64)) as made, \
            traffic(f"--grpc=127.0.0.1:{made.node.grpc}", f"--rate={rate}", "--connections=4") as load:
        wait_for(lambda: made.node.available("big") == [1], "the big model")
        windows, loads = {"quiet": [], "busy": []}, 0
        for turn in range(pairs):
            load.send(f"mark quiet-{turn}")
            time.sleep(seconds)
            load.send(f"mark busy-{turn}")
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                loads += 1
                made.swap("big", 1 + loads % 2, exclusive=True, pause=0.05)
            load.send(f"mark pause-{turn}")
            for kind, measured in windows.items():
                measured.append(load.segment(f"{kind}-{turn}"))
            quiet, busy = (windows[kind][-1]["p999_ms"] for kind in ("quiet", "busy"))
            say(f"  p99.9 {busy:.2f} ms busy, {quiet:.2f} ms quiet; {loads} loads")
        failed = failures(load.stop())
    busy, quiet = ([window["p999_ms"] for window in windows[kind]] for kind in ("busy", "quiet"))
    yield row_of_rounds(f"p99.9 in ms at {rate}/s during {loads} loads of another model", "the same undisturbed", busy, quiet, "<= 1.3")
    busy, quiet = (pooled_p999_ms(windows[kind]) for kind in ("busy", "quiet"))
    yield row(f"p99.9 in ms of all windows together, during {loads} loads", "the same undisturbed", busy, quiet, "<= 1.3",
              basis=f"{pairs} windows together")
    yield row(f"{loads} loads of another model, failed requests", "", failed, 0, "<= 0")
