"""Triton's extensions of the Open Inference Protocol: statistics, repository, log and trace settings, and who may use them."""

import grpc
import numpy as np
import pytest
from calls import MODELS, predict, request
from config_test import model as config
from config_test import models, serving
from oip import call, infer_request, message
from oip_test import JSON_BODY, error_of, infer
from rest_test import ask
from serving import running_node

X = np.array([1, 2, 5], np.float32)


@pytest.mark.contract("O21")
def test_statistics_count_the_requests_of_all_protocols(tmp_path):
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1") as started:
        node = started.serving()
        call(node, "ModelInfer", infer_request("half", "FP32", X))
        infer(node, JSON_BODY, "/v2/models/half/infer")
        predict(node, request("half", x=X))
        error_of(call, node, "ModelInfer", infer_request("half", "FP32", X, "zz"))
        [statistics] = ask(node, "GET", "/v2/models/stats").json["model_stats"]
        assert (statistics["name"], statistics["version"], statistics["execution_count"]) == ("half", "1", 3)
        parts = statistics["inference_stats"]
        assert [parts[key]["count"] for key in ["success", "fail", "queue", "compute_infer", "cache_hit"]] == [3, 1, 3, 3, 0]
        assert parts["success"]["ns"] >= parts["compute_infer"]["ns"] > 0 and statistics["last_inference"] > 1.6e12
        [batch] = statistics["batch_stats"]
        assert (batch["compute_infer"]["count"], batch["batch_size"] * 3) == (3, statistics["inference_count"])
        for path in ["/v2/models/half/stats", "/v2/models/half/versions/1/stats"]:
            assert ask(node, "GET", path).json["model_stats"][0]["execution_count"] == 3
        assert call(node, "ModelStatistics").model_stats[0].inference_stats.success.count == 3


@pytest.mark.contract("O22", "O23")
def test_a_model_is_set_aside_until_it_is_loaded_or_the_configuration_changes(tmp_path):
    both = [config("half", MODELS / "half_plus_two_tf1"), config("strings", MODELS / "strings")]
    with serving(tmp_path, models(*both), "--model_config_file_poll_wait_seconds=0.1") as (started, file):
        node = started.serving()

        def index(**filters):
            return {one["name"]: one.get("state") for one in ask(node, "POST", "/v2/repository/index", filters).json}

        def is_ready(name):
            return call(node, "ModelReady", name=name).ready
        assert index() == {"half": "READY", "strings": "READY"}
        assert ask(node, "POST", "/v2/repository/models/strings/unload").status == 200
        node.until(lambda: not is_ready("strings") or None)
        assert index(ready=True) == {"half": "READY"} and "strings" in index()
        assert call(node, "ServerReady").ready and is_ready("half")
        assert ask(node, "POST", "/v2/repository/models/strings/load").status == 200 and is_ready("strings")
        call(node, "RepositoryModelLoad", model_name="strings")
        call(node, "RepositoryModelUnload", model_name="strings")
        file.write_text(models(*reversed(both)))
        node.until(lambda: is_ready("strings") or None)


@pytest.mark.contract("O23")
def test_load_and_unload_refuse_what_they_cannot_do(half):
    for method in ["RepositoryModelLoad", "RepositoryModelUnload"]:
        code, text = error_of(call, half, method, model_name="nope")
        assert code == grpc.StatusCode.NOT_FOUND and "'nope'" in text
        assert error_of(call, half, method, model_name=half.model, repository_name="r") == (
            grpc.StatusCode.UNIMPLEMENTED, "'repository_name' specification is not supported")
    answer = ask(half, "POST", f"/v2/repository/models/{half.model}/load", {"parameters": {"config": "{}"}})
    assert answer.status == 400 and "load parameter 'config' is not supported" in answer.error
    assert ask(half, "POST", "/v2/repository/models/nope/load").status == 404


@pytest.mark.contract("O23")
def test_without_reload_requests_models_are_not_loaded_or_unloaded(tmp_path):
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1", "--enable_reload_requests=false") as started:
        node = started.serving()
        assert error_of(call, node, "RepositoryModelUnload", model_name="half")[0] == grpc.StatusCode.PERMISSION_DENIED
        assert call(node, "ModelReady", name="half").ready


@pytest.mark.contract("O24")
def test_log_settings_change_the_level_only_with_tokens(tmp_path, half):
    token = "admin-0123456789abcdef"
    headers = {"Authorization": f"Bearer {token}"}
    (tmp_path / "tokens").write_text(f"ops {token} admin\n")
    settings = {"log_file": "", "log_info": True, "log_warning": True, "log_error": True, "log_verbose_level": 0,
                "log_format": "default"}
    assert ask(half, "GET", "/v2/logging").json == ask(half, "POST", "/v2/logging", {"log_verbose_level": 0}).json == settings
    assert ask(half, "POST", "/v2/logging", {"log_verbose_level": 1}).status == 403
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1", f"--auth_tokens_file={tmp_path}/tokens") as started:
        node = started.ready()
        assert ask(node, "POST", "/v2/logging", {"log_verbose_level": 1}, headers).json["log_verbose_level"] == 1
        sent = message("LogSettingsRequest")
        sent.settings["log_verbose_level"].uint32_param = 0
        sent.settings["log_info"].bool_param = False
        answer = call(node, "LogSettings", sent, metadata=[("authorization", f"Bearer {token}")])
        assert not answer.settings["log_info"].bool_param and answer.settings["log_warning"].bool_param
        for wrong in [{"log_file": "/tmp/x"}, {"nope": 1}]:
            assert ask(node, "POST", "/v2/logging", wrong, headers).status == 400


@pytest.mark.contract("O24")
def test_trace_settings_are_constant(half):
    trace = {"trace_level": ["OFF"], "trace_rate": "1000", "trace_count": "-1", "log_frequency": "0", "trace_file": "",
             "trace_mode": "triton"}
    assert ask(half, "GET", "/v2/trace/setting").json == trace
    assert ask(half, "POST", "/v2/models/half/trace/setting", {"trace_level": ["OFF"]}).json == trace
    assert ask(half, "POST", "/v2/trace/setting", {"trace_level": ["TIMESTAMPS"]}).status == 400


@pytest.mark.contract("O25")
def test_only_tokens_with_the_scope_admin_change_the_node(tmp_path):
    web, admin = "web-0123456789abcdef", "admin-0123456789abcdef"
    (tmp_path / "tokens").write_text(f"web {web} predict\nops {admin} admin\n")
    with running_node(tmp_path, "half", MODELS / "half_plus_two_tf1", f"--auth_tokens_file={tmp_path}/tokens") as started:
        node = started.ready()

        def code(name, token, **fields):
            try:
                call(node, name, metadata=[("authorization", f"Bearer {token}")] if token else [], **fields)
            except grpc.RpcError as error:
                return error.code()
            return grpc.StatusCode.OK
        ok, denied = grpc.StatusCode.OK, grpc.StatusCode.PERMISSION_DENIED
        for name in ["LogSettings", "TraceSetting"]:
            assert [code(name, None), code(name, web), code(name, admin)] == [grpc.StatusCode.UNAUTHENTICATED, denied, ok]
        for name in ["RepositoryModelLoad", "RepositoryModelUnload"]:
            assert [code(name, web, model_name="half"), code(name, admin, model_name="half")] == [denied, ok]
        assert code("ServerLive", web) == ok and code("ServerLive", None) == grpc.StatusCode.UNAUTHENTICATED
        for path, method in [("/v2/logging", "GET"), ("/v2/trace/setting", "POST"), ("/v2/repository/models/half/load", "POST")]:
            statuses = [ask(node, method, path, headers={"Authorization": f"Bearer {token}"}).status for token in [web, admin]]
            assert statuses == [403, 200], path
        assert ask(node, "GET", "/v2/health/live").status == 401
