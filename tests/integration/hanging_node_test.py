"""A node that hangs (SIGSTOP) is named by the status of its fleet, and restarted; then the fleet is ready again."""

import os
import signal

import pytest

from harness import MODELS, Installation, wait_for

HANG_MAX_S = 180  # It takes 20 s by itself.


@pytest.fixture
def installation():
    with Installation() as it:
        it.apply_fleet(nodes=2)
        it.apply_model("half", MODELS / "half_plus_two_tf2", 1)
        it.start_controller()
        it.wait_for_ready_nodes(2)
        it.wait_for_stable("half", 1)
        yield it


def test_a_node_that_hangs_is_named_and_restarted(installation):
    before = installation.node_pids()
    victim, other = sorted(before)
    os.kill(before[victim], signal.SIGSTOP)

    def state():
        return {node["name"]: node["state"] for node in installation.fleet_status().get("nodes", [])}

    wait_for("the hang to be noticed", lambda: state().get(victim) == "NotAnswering", HANG_MAX_S, installation.fleet_status)
    ready = installation.condition("ServingFleet", "cpu", "Ready")
    assert ready["status"] == "False"
    assert f"{victim} does not answer, although its process {before[victim]} runs" in ready["message"]
    wait_for("a new process", lambda: installation.node_pids().get(victim, 0) not in (0, before[victim]), HANG_MAX_S,
             installation.fleet_status)
    wait_for("two ready nodes", lambda: set(state().values()) == {"Ready"}, HANG_MAX_S, installation.fleet_status)
    wait_for("the fleet to be ready", lambda: installation.condition("ServingFleet", "cpu", "Ready")["status"] == "True", HANG_MAX_S)
    assert installation.node_pids()[other] == before[other]
    installation.wait_for_answers("half", {"instances": [2.0]})
