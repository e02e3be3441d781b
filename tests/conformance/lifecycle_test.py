"""The life of versions: how they are found, loaded, swapped and let go."""

import threading

import grpc
import pytest
from calls import MODELS, SECONDS
from config_test import HALF, model, models, reload_refusal, serving, wait_for


@pytest.mark.contract("L14")
def test_a_reload_that_waits_ends_when_the_node_leaves(tmp_path):
    broken = tmp_path / "broken" / "1"
    broken.mkdir(parents=True)
    (broken / "saved_model.pb").write_bytes(b"no model")
    refused = []
    # The broken model has an hour until its next attempt, so its reload would wait for as long.
    with serving(tmp_path, models(HALF), "--load_retry_interval_micros=3600000000") as (node, _):
        wait_for(node, "half", [1])
        text = models(HALF, model("broken", tmp_path / "broken"))
        waits = threading.Thread(target=lambda: refused.append(reload_refusal(node, text, 10 * SECONDS)))
        waits.start()
        node.logs('model "broken" version 1 does not load')
        node.process.terminate()
        waits.join(SECONDS)
        assert refused == [(grpc.StatusCode.UNAVAILABLE, "the node is leaving")]
        assert node.process.wait(SECONDS) == 0
