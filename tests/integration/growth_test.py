"""A fleet grows from one node to four while clients keep their connections. No request may fail, and the new nodes get work."""

import pytest

from harness import Installation, wait_for
from kept_connections import NODES, GrpcClient, Load, RestClient, grow, serve_on_one_node

AGE_MAX = "1h"  # So that only moves spread connections.


@pytest.fixture
def installation():
    with Installation() as it:
        serve_on_one_node(it, AGE_MAX)
        yield it


@pytest.mark.parametrize("kind", [GrpcClient, RestClient])
@pytest.mark.parametrize("connections", [4, 16])
def test_new_nodes_get_work_from_clients_that_keep_their_connections(installation, kind, connections):
    with Load(kind, installation, connections) as load:
        wait_for("answers", lambda: len(load.answers) > 10 * connections)
        grown_at = grow(installation, AGE_MAX)
        wait_for("every node to have work", lambda: len(load.first_answers(grown_at)) == NODES, timeout_s=20)
        wait_for("each node to have half of the mean", load.is_balanced, timeout_s=20)
    assert load.errors == []


@pytest.mark.parametrize("kind", [GrpcClient, RestClient])
def test_the_only_connection_stays_where_it_is(installation, kind):
    with Load(kind, installation, 1) as load:
        wait_for("answers", lambda: len(load.answers) > 10)
        grown_at = grow(installation, AGE_MAX)
        wait_for("a few rounds of the controller", lambda: sum(load.counts(grown_at).values()) > 200)
    assert load.errors == []
    assert len(load.counts(0)) == 1
