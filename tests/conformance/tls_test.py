"""TLS and mutual TLS on both ports, and certificate changes while the node serves."""

import contextlib
import http.client
import json
import os
import pathlib
import socket
import ssl
import threading

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, request, run_node
from certificates import Authority, ssl_config
from serving import running_node
from tensorflow_serving.apis import prediction_service_pb2_grpc

MODEL = "half_plus_two_tf1"
BODY = json.dumps({"instances": [2.0]})


@pytest.fixture(scope="module")
def ca(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@contextlib.contextmanager
def node_with(tmp_path, *flags):
    with running_node(tmp_path, MODEL, MODELS / MODEL, *flags) as node:
        yield node.ready()


def write(folder: pathlib.Path, **files: bytes) -> dict[str, pathlib.Path]:
    for name, content in files.items():
        (folder / f"{name}.new").write_bytes(content)
        os.rename(folder / f"{name}.new", folder / name)
    return {name: folder / name for name in files}


def channel(node, ca: bytes, certificate: bytes | None = None, key: bytes | None = None) -> grpc.Channel:
    credentials = grpc.ssl_channel_credentials(root_certificates=ca, private_key=key, certificate_chain=certificate)
    return grpc.secure_channel(f"localhost:{node.grpc_port}", credentials)


def ask_grpc(node, ca, certificate=None, key=None) -> list[float]:
    with channel(node, ca, certificate, key) as open_channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(open_channel)
        return list(stub.Predict(request(MODEL, x=np.array([2], np.float32)), timeout=SECONDS).outputs["y"].float_val)


def https(node, context: ssl.SSLContext) -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection(node.rest_url.removeprefix("http://"), timeout=SECONDS, context=context)


def context_of(ca: Authority, **minimum) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=ca.pem.decode())
    for name, value in minimum.items():
        setattr(context, name, value)
    return context


def ask_rest(connection: http.client.HTTPConnection) -> list[float]:
    connection.request("POST", f"/v1/models/{MODEL}:predict", BODY)
    response = connection.getresponse()
    body = response.read()
    assert response.status == 200, body
    return json.loads(body)["predictions"]


def name_at(port: int) -> str:
    """The common name in the certificate that the server presents to a new connection."""
    pem = ssl.get_server_certificate(("127.0.0.1", port), timeout=SECONDS)
    decoded = ssl._ssl._test_decode_cert  # The only decoder in Python's library; it reads a file.
    path = pathlib.Path(os.environ["PYTEST_CERTIFICATE"])
    path.write_text(pem)
    return dict(pair[0] for pair in decoded(str(path))["subject"])["commonName"]


@pytest.fixture(autouse=True)
def _certificate_file(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "PYTEST_CERTIFICATE", str(tmp_path / "shown.pem"))


@pytest.mark.contract("S1")
def test_the_ssl_config_file_enables_tls_for_grpc_and_not_for_rest(tmp_path, ca):
    (tmp_path / "ssl.txt").write_text(ssl_config(*ca.sign("one")))
    with node_with(tmp_path, f"--ssl_config_file={tmp_path}/ssl.txt") as node:
        assert ask_grpc(node, ca.pem) == [3.0]
        assert node.rest_predict({"instances": [2.0]})[0] == 200
        with pytest.raises(grpc.RpcError) as caught:
            node.predictions.Predict(request(MODEL, x=np.array([2], np.float32)), timeout=5)
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


@pytest.mark.contract("S1", "F15")
def test_the_port_and_the_unix_socket_both_use_tls(tmp_path, ca):
    (tmp_path / "ssl.txt").write_text(ssl_config(*ca.sign("one")))
    with node_with(tmp_path, f"--ssl_config_file={tmp_path}/ssl.txt", f"--grpc_socket_path={tmp_path}/s") as node:
        assert ask_grpc(node, ca.pem) == [3.0]
        credentials = grpc.ssl_channel_credentials(root_certificates=ca.pem)
        with grpc.secure_channel(f"unix:{tmp_path}/s", credentials,
                                 [("grpc.ssl_target_name_override", "localhost")]) as open_channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(open_channel)
            answer = stub.Predict(request(MODEL, x=np.array([2], np.float32)), timeout=SECONDS)
            assert list(answer.outputs["y"].float_val) == [3.0]


@pytest.mark.contract("S1", "S2")
def test_client_verify_requires_a_certificate_of_the_custom_ca_on_both_ports(tmp_path, ca):
    (tmp_path / "ssl.txt").write_text(ssl_config(*ca.sign("one"), ca.pem, verify=True))
    with node_with(tmp_path, f"--ssl_config_file={tmp_path}/ssl.txt", "--rest_api_tls") as node:
        certificate, key = ca.sign("client")
        foreign = Authority(tmp_path, "other-ca").sign("client-of-other-ca")
        assert ask_grpc(node, ca.pem, certificate, key) == [3.0]
        for refused in ((None, None), foreign):
            with pytest.raises(grpc.RpcError) as caught:
                ask_grpc(node, ca.pem, *refused)
            assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
        known = context_of(ca)
        files = write(tmp_path, cert=certificate, key=key, other_cert=foreign[0], other_key=foreign[1])
        known.load_cert_chain(files["cert"], files["key"])
        assert ask_rest(https(node, known)) == [3.0]
        unknown = context_of(ca)
        unknown.load_cert_chain(files["other_cert"], files["other_key"])
        for context in (context_of(ca), unknown):
            with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
                ask_rest(https(node, context))


@pytest.mark.contract("S2")
@pytest.mark.parametrize("port", ["grpc", "rest"])
@pytest.mark.parametrize("version, accepted", [
    (ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)])
def test_tls_1_2_is_the_oldest_accepted_version(tls_node, ca, port, version, accepted):
    context = context_of(ca)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    if port == "grpc":
        context.set_alpn_protocols(["h2"])
    number = tls_node.grpc_port if port == "grpc" else tls_node.rest_port
    with socket.create_connection(("127.0.0.1", number), SECONDS) as plain:
        if accepted:
            with context.wrap_socket(plain, server_hostname="localhost") as wrapped:
                assert wrapped.version() == {"TLSv1_2": "TLSv1.2", "TLSv1_3": "TLSv1.3"}[version.name]
        else:
            with pytest.raises(ssl.SSLError):
                context.wrap_socket(plain, server_hostname="localhost")


@pytest.fixture(scope="module")
def tls_node(tmp_path_factory, ca):
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = ca.sign("steady")
    files = write(folder, cert=certificate, key=key)
    with node_with(folder, f"--tls_cert_file={files['cert']}", f"--tls_key_file={files['key']}") as node:
        yield node


@pytest.mark.contract("S2")
def test_plain_http_on_a_tls_port_is_not_answered(tls_node):
    plain = http.client.HTTPConnection("127.0.0.1", tls_node.rest_port, timeout=SECONDS)
    with pytest.raises((http.client.BadStatusLine, ConnectionError)):
        ask_rest(plain)


class RepeatedRequests:
    """Repeats requests, one thread per function, and counts the requests and the failures."""

    def __init__(self, *asks):
        self.sent, self.failed, self.stopping = [0] * len(asks), [], threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(i, ask)) for i, ask in enumerate(asks)]
        for thread in self.threads:
            thread.start()

    def _run(self, index, ask):
        while not self.stopping.is_set():
            try:
                assert ask() == [3.0]
            except Exception as error:  # Every error is a failed request.
                self.failed.append(repr(error))
            self.sent[index] += 1

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.contract("S3")
def test_certificates_change_under_load_without_a_lost_request(tmp_path, ca):
    certificate, key = ca.sign("first")
    files = write(tmp_path, cert=certificate, key=key)
    with node_with(tmp_path, f"--tls_cert_file={files['cert']}", f"--tls_key_file={files['key']}",
                   "--connection_age_max_ms=500") as node:
        kept_rest = https(node, context_of(ca))
        with channel(node, ca.pem) as kept_grpc:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(kept_grpc)
            proto = request(MODEL, x=np.array([2], np.float32))
            load = RepeatedRequests(lambda: list(stub.Predict(proto, timeout=SECONDS).outputs["y"].float_val),
                                    lambda: ask_grpc(node, ca.pem), lambda: ask_rest(kept_rest),
                                    lambda: ask_rest(https(node, context_of(ca))))
            for name in ("second", "third"):
                certificate, key = ca.sign(name)
                write(tmp_path, cert=certificate)
                node.logs("stays in use")  # The certificate alone does not match the old key.
                write(tmp_path, key=key)
                for port in (node.grpc_port, node.rest_port):
                    node.until(lambda port=port, name=name: name_at(port) == name or None)
            seen = list(load.sent)
            node.until(lambda: all(now > before + 5 for now, before in zip(load.sent, seen)) or None)
            load.stop()
        assert load.failed == []
        kept_rest.close()


@pytest.mark.contract("S3")
@pytest.mark.parametrize("broken", [b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"\0" * 100])
def test_with_an_invalid_certificate_file_the_old_one_stays_and_a_warning_is_logged(tmp_path, ca, broken):
    certificate, key = ca.sign("good")
    files = write(tmp_path, cert=certificate, key=key)
    with node_with(tmp_path, f"--tls_cert_file={files['cert']}", f"--tls_key_file={files['key']}") as node:
        write(tmp_path, cert=broken)
        node.logs("cannot reload the TLS identity, the old value stays in use: --tls_cert_file")
        assert [name_at(node.grpc_port), name_at(node.rest_port)] == ["good", "good"]
        assert ask_grpc(node, ca.pem) == [3.0]


@pytest.mark.contract("S1", "S3")
@pytest.mark.parametrize("flags, message", [
    (["--tls_cert_file={cert}"], "must be given together"),
    (["--tls_cert_file={cert}", "--tls_key_file={missing}"], "--tls_key_file: cannot open"),
    (["--tls_cert_file={cert}", "--tls_key_file={other}"], "the key does not belong to the certificate"),
    (["--tls_cert_file={key}", "--tls_key_file={key}"], "the certificate is not PEM text"),
    (["--tls_cert_file={cert}", "--tls_key_file={key}", "--tls_client_ca_file={key}"], "the CA to verify clients is not PEM text"),
    (["--tls_cert_file={cut}", "--tls_key_file={key}"], "a certificate is truncated or damaged"),
    (["--tls_cert_file={cert}", "--tls_key_file={key}", "--tls_client_ca_file={cut}"], "a certificate is truncated or damaged"),
    (["--tls_client_ca_file={cert}"], "--tls_client_ca_file needs --tls_cert_file"),
    (["--rest_api_tls"], "--rest_api_tls needs --ssl_config_file"),
    (["--ssl_config_file={missing}"], "--ssl_config_file: cannot open"),
    (["--ssl_config_file={key}"], "--ssl_config_file: "),
    (["--ssl_config_file={key}", "--tls_cert_file={cert}", "--tls_key_file={key}"], "exclude each other")])
def test_an_unusable_tls_identity_ends_the_program_and_is_named(tmp_path, ca, flags, message):
    certificate, key = ca.sign("good")
    files = write(tmp_path, cert=certificate, key=key, other=ca.sign("other")[1],
                  cut=certificate + ca.pem[:len(ca.pem) // 2])
    done = run_node(f"--model_base_path={MODELS / MODEL}", "--port=0", "--rest_api_port=0", f"--port_file={tmp_path}/p",
                    "--admin_port=0", *(flag.format(missing=tmp_path / "none", **files) for flag in flags))
    assert done.returncode != 0 and message in done.stdout + done.stderr
    assert "PRIVATE" not in done.stdout + done.stderr
