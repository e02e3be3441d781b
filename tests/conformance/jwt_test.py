"""JSON Web Tokens of clients: a token that does not verify is refused, and says why."""

import time

import grpc
import numpy as np
import pytest
from calls import MODELS, SECONDS, request
from issuer import Issuer, url64, write_keys
from rest_test import ask
from serving import running_node

MODEL = "half_plus_two_tf1"
WEB = "web-0123456789abcdef"


@pytest.fixture(scope="module")
def issuers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("issuers")
    return [Issuer(folder, "ed"), Issuer(folder, "rsa", rsa=True)]


def flags(folder, issuers):
    write_keys(folder / "keys.json", *issuers)
    return [f"--jwt_jwks_file={folder}/keys.json", "--jwt_issuer=login", "--jwt_audience=longshore"]


@pytest.fixture(scope="module")
def node(tmp_path_factory, issuers):
    """A node that verifies tokens of the issuers, and has no file of tokens."""
    folder = tmp_path_factory.mktemp("jwt")
    with running_node(folder, MODEL, MODELS / MODEL, *flags(folder, issuers)) as started:
        yield started.ready()


def answer(node, token: str | None):
    """The status code of gRPC, its message, and the status of REST."""
    sent = [] if token is None else [("authorization", f"Bearer {token}")]
    rest = ask(node, "POST", f"/v1/models/{MODEL}:predict", {"instances": [1.0]}, headers=dict(sent)).status
    try:
        node.predictions.Predict(request(MODEL, x=np.float32([1])), timeout=SECONDS, metadata=sent)
        return "OK", "", rest
    except grpc.RpcError as error:
        return error.code().name, error.details(), rest


@pytest.mark.contract("S13")
def test_a_valid_token_is_accepted_and_none_is_needed(node, issuers):
    for token in [issuer.token({"sub": "alice"}) for issuer in issuers] + [None, "an-opaque-token-1234"]:
        assert answer(node, token) == ("OK", "", 200)


def wrong_tokens(issuers):
    ed, rsa = issuers
    good = ed.token({})
    head, body, _ = good.split(".")
    return {"has expired": ed.token({"exp": int(time.time()) - 120}),
            "is not valid yet": ed.token({"nbf": int(time.time()) + 600}),
            "is for another audience": rsa.token({"aud": "other"}),
            "is from another issuer": rsa.token({"iss": "other"}),
            "is signed with an unknown key": ed.token({}, kid="other"),
            "is not signed by the issuer": f"{head}.{url64(b'{}')}.{good.rsplit('.', 1)[1]}",
            "has no valid expiration time": ed.token({"exp": None}),
            "has more than 16 KiB": ed.token({"pad": "a" * 20000})}


@pytest.mark.contract("S13")
def test_a_token_that_does_not_verify_is_refused_with_the_reason(node, issuers):
    for reason, token in wrong_tokens(issuers).items():
        assert answer(node, token) == ("UNAUTHENTICATED", f"the token {reason}", 401)


@pytest.mark.contract("S13")
def test_the_token_does_not_choose_how_it_is_verified(node, issuers):
    ed, rsa = issuers
    unsigned = ed.token({}, alg="none").rsplit(".", 1)[0] + "."
    for token in [rsa.confused_token({}), unsigned, ed.token({}, kid="rsa"), rsa.token({}, alg="RS512")]:
        assert answer(node, token) == ("UNAUTHENTICATED", "the token is signed with another algorithm than that of its key", 401)


@pytest.mark.contract("S13")
def test_with_a_file_of_tokens_a_call_needs_one_of_them_or_a_valid_token(tmp_path, issuers):
    (tmp_path / "tokens").write_text(f"web {WEB}\n")
    with running_node(tmp_path, MODEL, MODELS / MODEL, f"--auth_tokens_file={tmp_path}/tokens", *flags(tmp_path, issuers)) as started:
        node = started.ready()
        for token in [WEB, issuers[0].token({})]:
            assert answer(node, token) == ("OK", "", 200)
        for token in [None, "an-opaque-token-1234"]:
            assert answer(node, token) == ("UNAUTHENTICATED", "the request has no valid bearer token", 401)


@pytest.mark.contract("S13")
def test_a_call_with_two_authorization_headers_is_refused(node, issuers):
    values = [f"Bearer {issuers[0].token({})}", f"Bearer {issuers[1].token({})}", "Bearer an-opaque-token-1234"]
    for first, second in [(0, 1), (0, 0), (0, 2), (2, 0), (2, 2)]:
        sent = [("authorization", values[first]), ("authorization", values[second])]
        with pytest.raises(grpc.RpcError) as error:
            node.predictions.Predict(request(MODEL, x=np.float32([1])), timeout=SECONDS, metadata=sent)
        assert (error.value.code().name, error.value.details()) == ("UNAUTHENTICATED", "the request has several authorization headers")


@pytest.mark.contract("S13")
def test_the_keys_are_read_again(tmp_path, issuers):
    ed, rsa = issuers
    with running_node(tmp_path, MODEL, MODELS / MODEL, *flags(tmp_path, [ed])) as started:
        node, token = started.ready(), rsa.token({})
        assert answer(node, token)[1] == "the token is signed with an unknown key"
        write_keys(tmp_path / "keys.json", rsa)
        end = time.monotonic() + SECONDS
        while answer(node, token)[0] != "OK" and time.monotonic() < end:
            time.sleep(0.05)
        assert answer(node, token) == ("OK", "", 200)
        assert answer(node, ed.token({}))[1] == "the token is signed with an unknown key"
