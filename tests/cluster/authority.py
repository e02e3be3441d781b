"""Who is who in a test's Kubernetes: certificates of an authority of its own, made by openssl, and kubeconfig files."""

import base64
import pathlib
import subprocess

from program import Failure

# x509 extensions must not come twice, so the ones that openssl would add of itself are all here.
CONFIG = """[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, digitalSignature
subjectKeyIdentifier = hash
[holder]
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


def openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"openssl {words[0]}: {done.stderr.strip()}")


def encoded(path):
    return base64.b64encode(path.read_bytes()).decode()


class Authority:
    """A certificate authority in a folder of its own."""

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
        """Paths of a certificate and its key; to the API server the organizations are the user's groups."""
        file = name.replace(":", "_").replace("/", "_")
        certificate, key = self.folder / f"{file}.crt", self.folder / f"{file}.key"
        subject = "".join(f"/O={organization}" for organization in organizations) + f"/CN={name}"
        names = ["-addext", "subjectAltName=" + ",".join(addresses)] if addresses else []
        self._request(subject, certificate, key, "-CA", self.certificate, "-CAkey", self.key, "-extensions", "holder", *names)
        return certificate, key

    def key_pair(self, name):
        """Paths of a private RSA key and its public half, as service account tokens are signed with."""
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
