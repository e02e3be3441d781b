"""Issuers of JSON Web Tokens for tests, made with openssl."""

import base64
import hashlib
import hmac
import json
import pathlib
import subprocess
import time


def url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _openssl(*arguments: str) -> bytes:
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout


class Issuer:
    """Has one key, with Ed25519 (EdDSA) or RSA (RS256). Keeps its files in `folder`."""

    def __init__(self, folder: pathlib.Path, kid: str = "k", rsa: bool = False):
        self.kid, self.rsa, self.pem = kid, rsa, folder / f"issuer-{kid}.pem"
        kind = ("RSA", "-pkeyopt", "rsa_keygen_bits:2048") if rsa else ("ED25519",)
        _openssl("genpkey", "-algorithm", *kind, "-out", str(self.pem))

    def public(self) -> bytes:
        return _openssl("pkey", "-in", str(self.pem), "-pubout", "-outform", "DER")

    def jwk(self) -> dict:
        if not self.rsa:
            return {"kid": self.kid, "kty": "OKP", "crv": "Ed25519", "x": url64(self.public()[-32:])}
        modulus = _openssl("rsa", "-in", str(self.pem), "-noout", "-modulus").decode().strip().split("=")[1]
        return {"kid": self.kid, "kty": "RSA", "n": url64(bytes.fromhex(modulus)), "e": "AQAB"}

    def token(self, claims: dict, **header) -> str:
        """A token for the audience "longshore" of the issuer "login" that is valid for an hour, with these claims in addition."""
        body = {"iss": "login", "aud": "longshore", "exp": int(time.time()) + 3600, **claims}
        head = {"alg": "RS256" if self.rsa else "EdDSA", "kid": self.kid, **header}
        text = ".".join(url64(json.dumps(part).encode()) for part in (head, body))
        signed = self.pem.with_suffix(".text")
        signed.write_text(text)
        how = ("dgst", "-sha256", "-sign", str(self.pem), str(signed)) if self.rsa else \
            ("pkeyutl", "-sign", "-rawin", "-inkey", str(self.pem), "-in", str(signed))
        return f"{text}.{url64(_openssl(*how))}"

    def confused_token(self, claims: dict) -> str:
        """A token with HS256, whose secret is the public key."""
        text = self.token(claims, alg="HS256").rsplit(".", 1)[0]
        return f"{text}.{url64(hmac.new(self.public(), text.encode(), hashlib.sha256).digest())}"


def write_keys(path: pathlib.Path, *issuers: Issuer) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps({"keys": [issuer.jwk() for issuer in issuers]}))
    temporary.rename(path)
