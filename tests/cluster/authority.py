"""Certificates and kubeconfig files for the Kubernetes of a test, signed by a test CA and made with openssl."""

import base64
import pathlib
import subprocess

from program import Failure

# An X.509 extension must not appear twice, so this file lists all extensions that openssl would add by default.
CONFIG = """[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, digitalSignature
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
"""

KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: {server}
    certificate-authority-data: {ca}
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: test
  context: {{cluster: test, user: {user}}}
current-context: test
"""


def openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"openssl {arguments[0]}: {done.stderr.strip()}")


def encoded(path):
    return base64.b64encode(path.read_bytes()).decode()


class Authority:
    """A certificate authority (CA). Keeps its certificate, its keys and what it signs in `folder`, which it creates."""

    def __init__(self, folder: pathlib.Path):
        folder.mkdir()
        self.folder, self.certificate, self.key = folder, folder / "ca.crt", folder / "ca.key"
        self.config = folder / "openssl.cnf"
        self.config.write_text(CONFIG)
        self._request("/CN=longshore-test", self.certificate, self.key, "-extensions", "authority")

    def _request(self, subject, certificate, key, *more):
        openssl("req", "-config", self.config, "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", 30, "-subj", subject, "-out", certificate, "-keyout", key, *more)

    def certify(self, name, organizations=(), addresses=()):
        """Signs a certificate; returns its path and the path of its key. The API server takes the organizations as groups."""
        file = name.replace(":", "_").replace("/", "_")
        certificate, key = self.folder / f"{file}.crt", self.folder / f"{file}.key"
        subject = "".join(f"/O={organization}" for organization in organizations) + f"/CN={name}"
        names = ["-addext", "subjectAltName=" + ",".join(addresses)] if addresses else []
        self._request(subject, certificate, key, "-CA", self.certificate, "-CAkey", self.key, "-extensions", "leaf", *names)
        return certificate, key

    def key_pair(self, name):
        """Makes an RSA key for signing service account tokens; returns the paths of the private and the public key."""
        private, public = self.folder / f"{name}.key", self.folder / f"{name}.pub"
        openssl("genrsa", "-out", private, 2048)
        openssl("rsa", "-in", private, "-pubout", "-out", public)
        return private, public

    def write_kubeconfig(self, path, server, user, organizations=()):
        certificate, key = self.certify(user, organizations)
        path.write_text(KUBECONFIG.format(server=server, user=user, ca=encoded(self.certificate),
                                          certificate=encoded(certificate), key=encoded(key)))
        path.chmod(0o600)
        return path
