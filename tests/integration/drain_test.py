"""A node drains while clients keep their connections. It tells them, so they go to other nodes, and no request fails.

Without that, the clients would keep their connections for an hour, and the node would not end.
"""

import os
import signal
import time

import pytest

from harness import Installation, MODELS, wait_for
from kept_connections import GrpcClient, Load, RestClient, apply_fleet

AGE_MAX = "1h"  # So that connections end only because a node drains.
CONNECTIONS = 16
LIMIT_S = 120  # A limit for slow machines, and far below AGE_MAX.


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


def wait_for_answers(load):
    """Returns node -> number of answers. No client chooses its node, so a node may have no clients."""
    began = time.monotonic()
    wait_for("answers", lambda: sum(load.counts(began).values()) > 10 * CONNECTIONS, timeout_s=LIMIT_S)
    return load.counts(began)


def wait_for_end(what, has_ended):
    wait_for(f"the end of {what}", has_ended, timeout_s=LIMIT_S)


def has_asked_to_leave(load, node):
    """Whether the node has asked a client to leave. The library of gRPC hides this; its calls must not fail."""
    return load.kind is GrpcClient or any(node in client.asked_to_leave_by for client in load.clients)


@pytest.mark.parametrize("kind", [GrpcClient, RestClient])
def test_clients_leave_a_draining_node_and_come_to_its_replacement(installation, kind):
    pids = installation.node_pids()
    with Load(kind, installation, CONNECTIONS) as load:
        counts = wait_for_answers(load)
        victim = max(counts, key=counts.get)
        os.kill(pids[victim], signal.SIGTERM)
        wait_for_end("the process", lambda: not os.path.exists(f"/proc/{pids[victim]}"))
        wait_for("its replacement", lambda: installation.node_pids().get(victim, 0) not in (0, pids[victim]), timeout_s=LIMIT_S)
        replaced_at = time.monotonic()  # Its process has ended, so later answers are not its own.
        wait_for("work for the replacement", lambda: victim in load.counts(replaced_at), timeout_s=LIMIT_S)
    assert load.errors == []
    assert has_asked_to_leave(load, victim)


@pytest.mark.parametrize("kind", [GrpcClient, RestClient])
def test_clients_leave_a_node_that_is_scaled_in(installation, kind):
    pids = installation.node_pids()
    ended = lambda: [name for name, pid in pids.items() if not os.path.exists(f"/proc/{pid}")]  # noqa: E731
    with Load(kind, installation, CONNECTIONS) as load:
        wait_for_answers(load)
        apply_fleet(installation, nodes=1, connection_age_max=AGE_MAX)
        wait_for_end("a node", ended)
        wait_for_answers(load)
    [left] = ended()
    assert load.errors == []
    assert has_asked_to_leave(load, left) or left not in load.counts(0), "it had clients"
