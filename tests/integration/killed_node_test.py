"""One of two nodes is killed (SIGKILL) under load. Only requests on its own connections may fail, one of each connection that asks one
request after the other; clients of the other node notice nothing."""

import concurrent.futures
import os
import signal
import threading

import pytest

from harness import MODELS, Installation, wait_for
from kept_connections import GrpcClient, RestClient, apply_fleet

CLIENTS = 16


@pytest.fixture
def installation():
    with Installation() as it:
        apply_fleet(it, nodes=2, connection_age_max="1h")  # So that connections stay where they are.
        it.apply_model("half", MODELS / "half_plus_two_tf2", 1, rollout={"hold": "100ms"})
        it.start_controller()
        it.wait_for_ready_nodes(2)
        it.wait_for_stable("half", 1)
        it.wait_for_answers("half", {"instances": [2.0]})
        yield it


class Clients:
    """Clients with one connection each. A client asks again at once after an answer or a failure, and does not repeat a request."""

    def __init__(self, kind, installation):
        self.outcomes = [[] for _ in range(CLIENTS)]  # The node that answered; None if the request failed.
        self.ending = threading.Event()
        self.pool = concurrent.futures.ThreadPoolExecutor(CLIENTS)
        self.running = [self.pool.submit(self.run, kind(installation), outcomes) for outcomes in self.outcomes]

    def run(self, client, outcomes):
        while not self.ending.is_set():
            try:
                outcomes.append(client.ask())
            except Exception:  # Any exception means that a user got no answer.
                outcomes.append(None)
            self.ending.wait(0.002)
        client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_failure):
        self.ending.set()
        for one in self.running:
            one.result()
        self.pool.shutdown()

    def nodes(self):
        """The node that answered each client last; None for a client without an answer."""
        return [next((node for node in reversed(outcomes) if node), None) for outcomes in self.outcomes]


@pytest.mark.parametrize("kind", [GrpcClient, RestClient])
def test_a_killed_node_fails_at_most_one_request_of_each_of_its_own_connections(installation, kind):
    pids = installation.node_pids()
    with Clients(kind, installation) as clients:
        wait_for("clients on both nodes", lambda: set(clients.nodes()) == set(pids), seen=clients.nodes)
        victim = sorted(pids)[0]
        before = clients.nodes()
        os.kill(pids[victim], signal.SIGKILL)
        wait_for("a new process", lambda: installation.node_pids().get(victim, 0) not in (0, pids[victim]))
        installation.wait_for_ready_nodes(2)
        answered = [len(outcomes) for outcomes in clients.outcomes]
        wait_for("each client to be answered again", lambda: all(
            len(outcomes) > count and outcomes[-1] for outcomes, count in zip(clients.outcomes, answered)))
    failures = [outcomes.count(None) for outcomes in clients.outcomes]
    on_victim = [failed for failed, node in zip(failures, before) if node == victim]
    elsewhere = [failed for failed, node in zip(failures, before) if node != victim]
    print(f"{kind.NAME}: {sum(on_victim)} requests of {len(on_victim)} connections failed, of {sum(map(len, clients.outcomes))} requests")
    assert elsewhere == [0] * len(elsewhere)
    assert max(on_victim) <= 1, on_victim
