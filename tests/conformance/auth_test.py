"""Bearer tokens: calls without a valid token are rejected before a model is looked up."""

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, request, run_node
from http2 import Connection, call, header
from rest_test import ask
from serving import running_node
from tensorflow_serving.apis import classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2
from tensorflow_serving.apis import model_management_pb2, model_service_pb2, predict_pb2, prediction_service_pb2
from tensorflow_serving.apis import regression_pb2

MODEL = "half_plus_two_tf1"
WEB, BATCH = "web-0123456789abcdef", "batch-0123456789abcdef"
TEXT = "the request has no valid bearer token"
SEVERAL = "the request has several authorization headers"
WRONG = [None, "", WEB, "Bearer", "Bearer ", f"Bearer {WEB}x", f"Bearer {WEB[:-1]}", f"Basic {WEB}", f"Bearer web {WEB}"]


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokens")
    (folder / "tokens").write_text(f"# of this test\nweb {WEB}\nbatch {BATCH}\n")
    (folder / "monitoring").write_text('prometheus_config { enable: true path: "/m" }')
    with running_node(folder, MODEL, MODELS / MODEL, f"--auth_tokens_file={folder}/tokens", "--enable_reflection",
                      f"--monitoring_config_file={folder}/monitoring") as started:
        yield started.ready()


def metadata(authorization: str | None):
    return [] if authorization is None else [("authorization", authorization)]


def methods(node, model: str):
    """All methods of both services, each with a request for the model."""
    def make_request(kind, **fields):
        message = kind(**fields)
        message.model_spec.name = model
        return message
    predictions, models = node.predictions, node.models
    inference = inference_pb2.MultiInferenceRequest()
    inference.tasks.add(method_name="tensorflow/serving/regress").model_spec.name = model
    return {
        "Predict": (predictions.Predict, make_request(predict_pb2.PredictRequest)),
        "Classify": (predictions.Classify, make_request(classification_pb2.ClassificationRequest)),
        "Regress": (predictions.Regress, make_request(regression_pb2.RegressionRequest)),
        "MultiInference": (predictions.MultiInference, inference),
        "GetModelMetadata": (predictions.GetModelMetadata, make_request(get_model_metadata_pb2.GetModelMetadataRequest,
                                                                        metadata_field=["signature_def"])),
        "GetModelStatus": (models.GetModelStatus, make_request(get_model_status_pb2.GetModelStatusRequest)),
        "HandleReloadConfigRequest": (models.HandleReloadConfigRequest, model_management_pb2.ReloadConfigRequest())}


METHODS = ["Predict", "Classify", "Regress", "MultiInference", "GetModelMetadata", "GetModelStatus",
           "HandleReloadConfigRequest"]


@pytest.mark.contract("S4")
def test_the_list_of_methods_is_complete(node):
    services = [prediction_service_pb2.DESCRIPTOR.services_by_name["PredictionService"],
                model_service_pb2.DESCRIPTOR.services_by_name["ModelService"]]
    unary = [method.name for service in services for method in service.methods if not method.server_streaming]
    assert sorted(unary) == sorted(METHODS) == sorted(methods(node, "x"))


@pytest.mark.contract("S4")
@pytest.mark.parametrize("authorization", WRONG)
@pytest.mark.parametrize("name", METHODS)
def test_without_a_valid_token_every_method_fails_alike_for_known_and_unknown_models(node, name, authorization):
    for model in (MODEL, "none"):
        method, made = methods(node, model)[name]
        with pytest.raises(grpc.RpcError) as caught:
            method(made, timeout=SECONDS, metadata=metadata(authorization))
        assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.UNAUTHENTICATED, TEXT)


@pytest.mark.contract("S4")
@pytest.mark.parametrize("path", ["/no.Such/Method", "/tensorflow.serving.PredictionService/predict",
                                  "//tensorflow.serving.PredictionService/Predict", "/grpc.health.v1.Healthy/Check",
                                  "/grpc.health.v1.Health", "/longshore.peer.Peer/GetState",
                                  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"])
def test_unknown_methods_need_a_token_too(node, path):
    with Connection(node.grpc_port) as connection:
        assert "grpc-status\x0216" in connection.answer(connection.request(call(path)))
        allowed = connection.answer(connection.request(call(path, header("authorization", f"Bearer {WEB}"))))
        assert "grpc-status\x0216" not in allowed


@pytest.mark.contract("S4")
@pytest.mark.parametrize("token", [WEB, BATCH])
def test_a_token_is_accepted_on_both_ports(node, token):
    made = request(MODEL, x=np.array([2], np.float32))
    answer = node.predictions.Predict(made, timeout=SECONDS, metadata=metadata(f"Bearer {token}"))
    assert answer.outputs["y"].float_val == [3.0]
    rest = ask(node, "POST", f"/v1/models/{MODEL}:predict", {"instances": [2.0]}, {"Authorization": f"bearer {token}"})
    assert (rest.status, rest.json) == (200, {"predictions": [3.0]})


ROUTES = [("POST", "/v1/models/{}:predict"), ("POST", "/v1/models/{}:classify"), ("POST", "/v1/models/{}:regress"),
          ("POST", "/v1/models/{}/versions/1:predict"), ("POST", "/v1/models/{}/labels/a:predict"),
          ("GET", "/v1/models/{}"), ("GET", "/v1/models/{}/metadata"), ("GET", "/v1/models/{}/versions/1"),
          ("GET", "/V1/MODELS/{}/"), ("GET", "/v1//models/{}"), ("GET", "/v1/%6dodels/{}"), ("PUT", "/v1/models/{}"),
          ("OPTIONS", "/v1/models/{}:predict"), ("HEAD", "/v1/models/{}"), ("GET", "/m"), ("GET", "/"), ("GET", "/{}")]


@pytest.mark.contract("S4")
@pytest.mark.parametrize("authorization", WRONG)
@pytest.mark.parametrize("method, route", ROUTES)
def test_without_a_valid_token_every_route_fails_alike_for_known_and_unknown_models(node, method, route, authorization):
    headers = {} if authorization is None else {"Authorization": authorization}
    for model in (MODEL, "none"):
        answer = ask(node, method, route.format(model), "{}" if method == "POST" else None, headers)
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert answer.headers["Content-Type"] == "application/json"
        assert method == "HEAD" or answer.error == TEXT


@pytest.mark.contract("S4", "S6")
def test_duplicate_authorization_headers_are_rejected(node):
    """A proxy in front of the node may have checked the other header."""
    made = request(MODEL, x=np.array([2], np.float32))
    for pair in ((WEB, "x" * 20), ("x" * 20, WEB), (WEB, WEB)):
        sent = [("authorization", f"Bearer {token}") for token in pair]
        with pytest.raises(grpc.RpcError) as caught:
            node.predictions.Predict(made, timeout=SECONDS, metadata=sent)
        assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.UNAUTHENTICATED, SEVERAL)


@pytest.mark.contract("R11", "S4")
def test_web_pages_may_send_a_token_and_a_preflight_needs_none(tmp_path):
    (tmp_path / "tokens").write_text(f"web {WEB}\n")
    bearer = {"Authorization": f"Bearer {WEB}"}
    with running_node(tmp_path, MODEL, MODELS / MODEL, f"--auth_tokens_file={tmp_path}/tokens",
                      "--rest_api_enable_cors_support") as node:
        node.ready()
        path, origin = f"/v1/models/{MODEL}:predict", {"Origin": "http://a.example"}
        for answer in (ask(node, "OPTIONS", path, headers=origin), ask(node, "GET", path),
                       ask(node, "POST", path, {"instances": [2.0]}, bearer)):
            assert answer.headers["Access-Control-Allow-Headers"] == "Content-Type, Authorization"
        assert ask(node, "OPTIONS", path, headers=origin).status == 200
        for body in ({"Content-Length": "200000000"}, {"Transfer-Encoding": "chunked"}):
            assert ask(node, "OPTIONS", path, headers={**origin, **body}).status == 401  # The node must not wait for the body.


@pytest.mark.contract("S5")
@pytest.mark.parametrize("headers, status", [
    ({"Transfer-Encoding": "chunked"}, 401), ({"Content-Length": "1000"}, 401),
    ({"Content-Length": "1025", "Authorization": f"Bearer {WEB}"}, 413)])
def test_administration_rejects_a_request_without_waiting_for_its_body(node, headers, status):
    class Admin:
        rest_url = node.admin_url
    assert ask(Admin, "POST", "/debug/log_level", headers=headers).status == status


@pytest.mark.contract("S4")
def test_the_grpc_health_service_needs_no_token(node):
    with Connection(node.grpc_port) as connection:
        assert "grpc-status\x010" in connection.answer(connection.request(call("/grpc.health.v1.Health/Check")))


@pytest.mark.contract("S5")
@pytest.mark.parametrize("path, status", [("/livez", 200), ("/readyz", 200), ("/metrics", 401), ("/debug/state", 401),
                                          ("/debug/log_level", 401), ("/debug/profile", 401)])
def test_administration_needs_a_token_except_for_health(node, path, status):
    class Admin:
        rest_url = node.admin_url
    assert ask(Admin, "GET", path).status == status
    nothing_recorded = path == "/debug/profile"
    assert ask(Admin, "GET", path, headers={"Authorization": f"Bearer {WEB}"}).status == (404 if nothing_recorded else 200)


@pytest.mark.contract("S5")
@pytest.mark.parametrize("path", ["/metrics", "/debug/state", "/debug/profile", "/livez", "/readyz",
                                  "/monitoring/prometheus/metrics"])
def test_administration_is_not_on_the_client_port(node, path):
    assert ask(node, "GET", path, headers={"Authorization": f"Bearer {WEB}"}).status == 404


@pytest.mark.contract("S4")
def test_changed_tokens_take_effect_and_an_invalid_file_changes_nothing(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"web {WEB}\n")
    def status_with(node, token):
        return ask(node, "GET", f"/v1/models/{MODEL}", headers={"Authorization": f"Bearer {token}"}).status
    with running_node(tmp_path, MODEL, MODELS / MODEL, f"--auth_tokens_file={path}") as node:
        node.ready()
        assert [status_with(node, WEB), status_with(node, BATCH)] == [200, 401]
        path.write_text("web short\n")
        node.logs("line 1: a token must have 16 to 4096 characters")
        assert [status_with(node, WEB), status_with(node, BATCH)] == [200, 401]
        path.write_text(f"batch {BATCH}\n")
        node.until(lambda: status_with(node, BATCH) == 200 or None)
        assert status_with(node, WEB) == 401
        text = node.log.read_text()
        assert WEB not in text and BATCH not in text and "short" not in text


READER, ADMIN = "reader-0123456789abcdef", "admin-0123456789abcdef"
LACKS_SCOPE = "this call needs a token with the scope admin, but the token of the request has the scope predict"


@pytest.fixture(scope="module")
def scoped_node(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scopes")
    (folder / "tokens").write_text(f"reader {READER} predict\nadmin {ADMIN} admin\nold {WEB}\n")
    with running_node(folder, MODEL, MODELS / MODEL, f"--auth_tokens_file={folder}/tokens") as started:
        yield started.ready()


def code_and_text(method, made, token: str | None):
    try:
        method(made, timeout=SECONDS, metadata=metadata(token and f"Bearer {token}"))
        return grpc.StatusCode.OK, ""
    except grpc.RpcError as error:
        return error.code(), error.details()


@pytest.mark.contract("S14", "X8")
@pytest.mark.parametrize("name", METHODS)
def test_a_token_for_predictions_is_refused_only_by_a_reload(scoped_node, name):
    refused = (grpc.StatusCode.PERMISSION_DENIED, LACKS_SCOPE)
    method, made = methods(scoped_node, MODEL)[name]
    assert (code_and_text(method, made, READER) == refused) == (name == "HandleReloadConfigRequest")
    for token in (ADMIN, WEB):  # A token without scopes has all of them.
        assert code_and_text(method, made, token)[0] not in (refused[0], grpc.StatusCode.UNAUTHENTICATED)


@pytest.mark.contract("S5", "S14")
@pytest.mark.parametrize("path", ["/debug/log_level", "/debug/profile"])
def test_administration_needs_the_scope_admin_for_changes_and_any_token_for_reading(scoped_node, path):
    class Admin:
        rest_url = scoped_node.admin_url
    bearer = {name: {"Authorization": f"Bearer {token}"} for name, token in (("reader", READER), ("admin", ADMIN))}
    assert ask(Admin, "GET", path, headers=bearer["reader"]).status in (200, 404)
    refused = ask(Admin, "POST", path, "x", headers=bearer["reader"])
    assert (refused.status, refused.text) == (403, LACKS_SCOPE + "\n")
    assert ask(Admin, "POST", path, "x", headers=bearer["admin"]).status == 400  # Accepted, and "x" is not valid.


@pytest.mark.contract("S15", "X8")
def test_reload_requests_can_be_disabled(tmp_path):
    reload = model_management_pb2.ReloadConfigRequest()
    reload.config.model_config_list.SetInParent()
    with running_node(tmp_path, MODEL, MODELS / MODEL, "--enable_reload_requests=false") as node:
        node.ready()
        code, text = code_and_text(node.models.HandleReloadConfigRequest, reload, None)
        assert code == grpc.StatusCode.PERMISSION_DENIED and "--enable_reload_requests=false" in text
        assert code_and_text(node.predictions.Predict, request(MODEL, x=np.array([2], np.float32)), None)[0] == grpc.StatusCode.OK


@pytest.mark.contract("S4")
def test_a_warning_is_logged_if_tokens_are_sent_in_plain_text_to_other_machines(tmp_path):
    (tmp_path / "tokens").write_text(f"web {WEB}\n")
    for host, warned in (("127.0.0.1", False), ("0.0.0.0", True), ("::", True)):
        with running_node(tmp_path, MODEL, MODELS / MODEL, f"--auth_tokens_file={tmp_path}/tokens", f"--host={host}") as node:
            node.ready()
            assert ("--auth_tokens_file without TLS" in node.log.read_text()) == warned


@pytest.mark.contract("S4")
@pytest.mark.parametrize("flags, message", [
    (["--auth_tokens_file={none}"], "--auth_tokens_file: cannot open"),
    (["--auth_tokens_file={empty}"], "the file has no token"),
    (["--peer_tokens_file={good}"], "--peer_tokens_file needs --peer_address"),
    (["--auth_tokens_file={good}", "--controller=unix:/tmp/none", "--fleet=a/b", "--state_dir={state}",
      "--peer_address=unix:{state}/p"], "--auth_tokens_file needs --peer_tokens_file")])
def test_an_unusable_token_configuration_ends_the_program(tmp_path, flags, message):
    (tmp_path / "empty").write_text("# no tokens\n")
    (tmp_path / "good").write_text(f"web {WEB}\n")
    names = {name: tmp_path / name for name in ("none", "empty", "good", "state")}
    base = [] if "--controller" in str(flags) else [f"--model_base_path={MODELS / MODEL}"]
    done = run_node(*base, "--port=0", "--rest_api_port=0", f"--port_file={tmp_path}/ports", "--admin_port=0",
                    *(flag.format(**names) for flag in flags))
    assert done.returncode != 0 and message in done.stdout + done.stderr
