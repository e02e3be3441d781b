"""Certificates for tests, made with openssl: a CA and certificates signed by it."""

import pathlib
import subprocess


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """A CA. Keeps its files and those that it signs in `folder`."""

    def __init__(self, folder: pathlib.Path, name: str = "ca"):
        self.folder, self.certificate, self.key = folder, folder / f"{name}.crt", folder / f"{name}.key"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                 "-subj", f"/CN={name}", "-keyout", str(self.key), "-out", str(self.certificate))

    def sign(self, name: str, days: int = 2) -> tuple[bytes, bytes]:
        """Signs a certificate of `name` for localhost and 127.0.0.1; returns the certificate and its key as PEM."""
        key, signing_request, signed = (self.folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        extensions = self.folder / f"{name}.ext"
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                 "-keyout", str(key), "-out", str(signing_request))
        _openssl("x509", "-req", "-in", str(signing_request), "-CA", str(self.certificate), "-CAkey", str(self.key),
                 "-CAcreateserial", "-days", str(days), "-extfile", str(extensions), "-out", str(signed))
        return signed.read_bytes(), key.read_bytes()

    @property
    def pem(self) -> bytes:
        return self.certificate.read_bytes()


def ssl_config(certificate: bytes, key: bytes, ca: bytes = b"", verify: bool = False) -> str:
    """TensorFlow Serving's SSLConfig."""
    def quoted(pem: bytes) -> str:
        return '"' + pem.decode().replace("\n", "\\n") + '"'
    return (f"server_key: {quoted(key)}\nserver_cert: {quoted(certificate)}\ncustom_ca: {quoted(ca)}\n"
            f"client_verify: {str(verify).lower()}\n")
