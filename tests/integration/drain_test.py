"""A node drains while clients keep their connections. It tells them, so they go to other nodes within seconds, and no request fails."""

import os
import signal
import time

import pytest

from harness import Installation, MODELS, wait_for
from kept_connections import GrpcClient, Load, RestClient, apply_fleet

AGE_MAX = "1h"  # So that connections end only because a node drains.
CONNECTIONS = 16
DRAINED_WITHIN_S = 15  # The clients are told within 2 s. The rest is for slow machines.


@pytest.fixture
def installation():
    with Installation() as it:
        apply_fleet(it, nodes=2, connection_age_max=AGE_MAX)
        it.apply_model("half", MODELS / "half_plus_two_tf2", 1, rollout={"hold": "100ms"})
        it.start_controller()
        it.wait_for_ready_nodes(2)
        it.wait_for_stable("half", 1)
        it.wait_for_answers("half", {"instances": [2.0]})
        yield it


def wait_for_both(load):
    wait_for("answers of both nodes", lambda: len(load.counts(time.monotonic() - 1)) == 2)


@pytest.mark.parametrize("kind", [GrpcClient, RestClient])
def test_clients_leave_a_draining_node_and_come_to_its_replacement(installation, kind):
    pids = installation.node_pids()
    victim = sorted(pids)[0]
    with Load(kind, installation, CONNECTIONS) as load:
        wait_for_both(load)
        os.kill(pids[victim], signal.SIGTERM)
        wait_for("the end of the process", lambda: not os.path.exists(f"/proc/{pids[victim]}"), timeout_s=DRAINED_WITHIN_S)
        wait_for("its replacement", lambda: installation.node_pids().get(victim, 0) not in (0, pids[victim]))
        installation.wait_for_ready_nodes(2)
        replaced_at = time.monotonic()
        wait_for("work for the replacement", lambda: victim in load.counts(replaced_at), timeout_s=10)
    assert load.errors == []
    print(f"{kind.NAME}: work after {load.first_answers(replaced_at)[victim]:.1f} s")


@pytest.mark.parametrize("kind", [GrpcClient, RestClient])
def test_clients_leave_a_node_that_is_scaled_in(installation, kind):
    pids = installation.node_pids()
    with Load(kind, installation, CONNECTIONS) as load:
        wait_for_both(load)
        apply_fleet(installation, nodes=1, connection_age_max=AGE_MAX)
        scaled_at = time.monotonic()
        wait_for("the end of a node", lambda: not all(os.path.exists(f"/proc/{pid}") for pid in pids.values()),
                 timeout_s=DRAINED_WITHIN_S)
        print(f"{kind.NAME}: drained after {time.monotonic() - scaled_at:.1f} s")
        ended_at = time.monotonic()
        wait_for("answers", lambda: sum(load.counts(ended_at).values()) > 10 * CONNECTIONS)
    assert load.errors == []
