"""What a test asks of an API server, over one connection that stays open."""

import http.client
import json
import urllib.parse

GROUP = "/apis/longshore.dev/v1alpha1/namespaces/default"
PLURALS = {"Model": "models", "ServingFleet": "servingfleets"}


class Refused(Exception):
    """The API server's own words, and its status."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def words_of(text):
    """Where a kind has just gone, the API server answers in plain text."""
    try:
        return json.loads(text)["message"]
    except ValueError:
        return text.decode()


class Api:
    """As whom `tls` has a certificate for, or, without one, as the holder of the token."""

    def __init__(self, url, tls, token=None):
        host = urllib.parse.urlsplit(url)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.connection = http.client.HTTPSConnection(host.hostname, host.port, context=tls, timeout=30)

    def close(self):
        self.connection.close()

    def request(self, method, path, body=None, content_type="application/json", **query):
        target = path + ("?" + urllib.parse.urlencode(query) if query else "")
        data = body if isinstance(body, (str, type(None))) else json.dumps(body)
        self.connection.request(method, target, data, {"Content-Type": content_type, **self.headers})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise Refused(words_of(text), answer.status)
        return json.loads(text)

    def try_to_create(self, manifest):
        """What would be stored. `manifest`: an object, or YAML as text."""
        kind = manifest["kind"] if isinstance(manifest, dict) else "Model" if "kind: Model" in manifest else "ServingFleet"
        content_type = "application/json" if isinstance(manifest, dict) else "application/yaml"
        return self.request("POST", f"{GROUP}/{PLURALS[kind]}", manifest, content_type, dryRun="All",
                            fieldValidation="Strict")

    def apply(self, manifest):
        """Server-side, as one user: what was given before and is not given now goes away."""
        path = f"{GROUP}/{PLURALS[manifest['kind']]}/{manifest['metadata']['name']}"
        return self.request("PATCH", path, manifest, "application/apply-patch+yaml", fieldManager="user",
                            fieldValidation="Strict")

    def delete(self, kind, name):
        self.request("DELETE", f"{GROUP}/{PLURALS[kind]}/{name}")
