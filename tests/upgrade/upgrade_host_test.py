"""On one host, the controller and a node are replaced by those of the next release and back again, in the middle of a rollout."""

import os
import pathlib
import shutil
import signal
import subprocess

import pytest
from harness import MODELS, Installation, wait_for
from load import Load, describe_failures
from watch import Watch, counts_of

TWO = {"instances": [2.0]}
RATE = 300
KEYS = 2000
SHARE_TOLERANCE = 0.06  # About four standard deviations of the share of 1,000 requests.
FIRST_WEIGHT = 10


class Programs:
    """Starts programs for Load."""

    def start(self, _name, command, **options):
        return subprocess.Popen(command, **options)


class Rollout:
    """A Model whose second version waits at `weight` for the command promote, under load, on two nodes."""

    def __init__(self, it: Installation, weight: int, programs: pathlib.Path):
        self.it, self.weight = it, weight
        self.source = it.dir / "half"
        shutil.copytree(MODELS / "half_plus_two_tf2/1", self.source / "1")
        shutil.copytree(MODELS / "half_plus_three_tf2/1", self.source / "2")
        it.apply_fleet(nodes=2)
        self.apply(1)
        it.start_controller(programs=programs)
        it.wait_for_stable("half", 1)
        it.wait_for_ready_nodes(2)
        it.wait_for_answers("half", TWO)

    def apply(self, version: int) -> None:
        self.it.apply_model("half", self.source, version, rollout={
            "hold": "100ms", "requestsMin": 20, "assignment": {"by": "Header", "key": "x-user-id"},
            "steps": [{"weight": FIRST_WEIGHT}, {"weight": self.weight, "pause": "Manual"}],
            # Two builds on a busy machine differ in speed; this test is not about latency.
            "analysis": {"latency": {"enabled": False}}})

    def start_load(self, programs: pathlib.Path) -> Load:
        status = self.it.fleet_status()
        return Load(Programs(), "load", [
            programs / "longshore-load", "--json", f"--grpc={status['grpcAddress']}", f"--rest={status['restAddress']}", "--model=half", f"--rate={RATE}",
            "--rest_share=0.2", "--keyed_share=1", f"--keys={KEYS}", "--connections=8", "--retries=5", f"--moves_file={self.it.dir / 'moves'}"])

    def requests(self) -> int:
        return counts_of(self.it.status("half")["rollout"])["candidateRequests"]

    def wait_for_requests(self, more: int) -> None:
        """Waits for evidence: the nodes report to the controller that now runs, and it adds to the counts of the previous one."""
        least = self.requests() + more
        wait_for(f"{least} requests of the candidate", lambda: self.requests() >= least, seen=lambda: self.it.status("half").get("rollout"))

    def replace_controller(self, programs: pathlib.Path) -> None:
        """Kills the controller and starts that of `programs` on the same folders. The nodes keep running."""
        pids, epoch = self.it.node_pids(), self.it.status("half")["epoch"]
        self.it.kill_controller()
        self.it.start_controller(programs=programs)
        wait_for("a status of the new controller", lambda: self.it.status("half")["epoch"] > epoch)
        self.it.wait_for_ready_nodes(2)
        self.wait_for_requests(50)
        assert self.it.node_pids() == pids

    def replace_node(self, programs: pathlib.Path) -> None:
        """Kills a node that only forwards requests for the candidate, or any node; the controller starts it again with its own program."""
        holders = {node["node"] for node in self.it.status("half")["nodes"] if "2:Ready" in node["state"]}
        before = self.it.node_pids()
        name = sorted(before, key=lambda node: (node in holders, node))[0]
        os.kill(before[name], signal.SIGKILL)
        wait_for("a new process", lambda: self.it.node_pids().get(name, 0) not in (0, before[name]))
        self.it.wait_for_ready_nodes(2)
        assert self.program_of(name) == programs / "longshore-node"
        if name in holders:
            wait_for("a first run of the candidate on the new node", lambda: self.it.ask("half:predict", TWO) == ({"predictions": [4.0]}, name))
        self.wait_for_requests(100)

    def pause_and_resume(self, programs: pathlib.Path) -> None:
        for verb in ("pause", "resume"):
            done = self.it.command(verb, "half", programs=programs)
            assert (done.returncode, done.stdout) == (0, f"{verb}: done\n"), done.stdout + done.stderr

    def program_of(self, node: str) -> pathlib.Path:
        return pathlib.Path(os.readlink(f"/proc/{self.it.node_pids()[node]}/exe"))

    def programs(self) -> set[pathlib.Path]:
        """The folders of the programs that the nodes run."""
        return {self.program_of(node).parent for node in self.it.node_pids()}


def users_sent_back(path: pathlib.Path, segment: dict) -> list[str]:
    """The users that got the stable version in a segment after they had got the candidate."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    begin_ms, end_ms = segment["began_unix_ms"], segment["ended_unix_ms"]
    return [key for sent_ms, key, _before, after in rows if begin_ms <= int(sent_ms) < end_ms and after == "1"]


def assert_share(segment: dict, weight: int) -> None:
    answers = {version: counts["keyed"] for version, counts in segment["versions"].items()}
    assert set(answers) == {"1", "2"} and sum(answers.values()) > 500
    assert abs(answers["2"] / sum(answers.values()) - weight / 100) < SHARE_TOLERANCE, answers


# With 50 % one node holds the candidate and the other one forwards to it; with 75 % both hold it.
@pytest.mark.parametrize("weight", [50, 75])
def test_a_rollout_survives_an_upgrade_and_a_downgrade_of_controller_and_node(previous: pathlib.Path, present: pathlib.Path, weight: int):
    with Installation() as it:
        rollout = Rollout(it, weight, previous)
        load = rollout.start_load(present)
        try:
            walk_through(it, rollout, load, previous, present)
        finally:
            final = load.stop()
        assert (final["failed"], final["unanswered"], final["answered_twice"], final["version_disputed"]) == (0, 0, 0, 0), describe_failures(final)
        segments = load.segments()
        for name in ("upgraded node", "downgraded node"):
            assert_share(segments[name], weight)
        # Not while a node is replaced: it answers with stable while it notes the first run of the candidate in its journal.
        for name in ("upgraded controller", "upgraded node", "downgraded controller", "downgraded node"):
            assert users_sent_back(it.dir / "moves", segments[name]) == [], name
        happened = [entry["what"] for entry in it.status("half")["history"] if entry["version"] == 2]
        assert happened.count("Started") == 1, happened


def walk_through(it: Installation, rollout: Rollout, load: Load, previous: pathlib.Path, present: pathlib.Path) -> None:
    rollout.apply(2)
    wait_for("the last step", lambda: it.status("half").get("rollout", {}).get("weight") == rollout.weight, seen=lambda: it.status("half"))
    rollout.wait_for_requests(200)
    with Watch(it) as watch:
        load.mark("upgraded controller")
        rollout.replace_controller(present)
        for programs in (present, previous, present):
            rollout.pause_and_resume(programs)
        assert [answer["verb"] for answer in it.status("half")["answers"]] == ["pause", "resume"] * 2, "the previous longshore loses no answer"
        load.mark("replacing a node")
        rollout.replace_node(present)
        assert rollout.programs() == {previous, present}
        load.mark("upgraded node")
        rollout.wait_for_requests(rollout.weight * 10)
        load.mark("downgraded controller")
        rollout.replace_controller(previous)
        refused = it.command("pause", "half", "--timeout=2s", programs=present)
        assert refused.returncode in (1, 4) and "release" in refused.stderr, "the previous controller does not know the queue"
        load.mark("replacing the node again")
        rollout.replace_node(previous)
        assert rollout.programs() == {previous}
        load.mark("downgraded node")
        rollout.wait_for_requests(rollout.weight * 10)
    assert watch.violations == [] and watch.seen > 100
    load.mark("promoted")
    promoted = it.command("promote", "half", programs=previous)
    assert promoted.returncode == 0, promoted.stdout + promoted.stderr
    it.wait_for_stable("half", 2)
    wait_for("the new version to answer", lambda: it.predict("half", TWO) == {"predictions": [4.0]})
    load.mark("end")
