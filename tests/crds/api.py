"""A client of an API server, which uses one persistent connection."""

import http.client
import json
import urllib.parse

GROUP = "/apis/longshore.dev/v1alpha1/namespaces/default"
PLURALS = {"Model": "models", "ServingFleet": "servingfleets"}


class ApiError(Exception):
    """An error answer of the API server: its message and its HTTP status."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def error_text(text):
    """The message of an error answer. For a kind that was just removed the API server answers in plain text."""
    try:
        return json.loads(text)["message"]
    except ValueError:
        return text.decode()


class Api:
    """Sends requests as the user of the client certificate in `tls`, or as the user of `token`."""

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
            raise ApiError(error_text(text), answer.status)
        return json.loads(text)

    def try_to_create(self, manifest):
        """Creates an object as a dry run; returns the object that would be stored. `manifest`: an object, or YAML as text."""
        kind = manifest["kind"] if isinstance(manifest, dict) else "Model" if "kind: Model" in manifest else "ServingFleet"
        content_type = "application/json" if isinstance(manifest, dict) else "application/yaml"
        return self.request("POST", f"{GROUP}/{PLURALS[kind]}", manifest, content_type, dryRun="All",
                            fieldValidation="Strict")

    def apply(self, manifest):
        """Server-side apply as one user: fields of the previous manifest that are missing in this one are removed."""
        path = f"{GROUP}/{PLURALS[manifest['kind']]}/{manifest['metadata']['name']}"
        return self.request("PATCH", path, manifest, "application/apply-patch+yaml", fieldManager="user",
                            fieldValidation="Strict")

    def delete(self, kind, name):
        self.request("DELETE", f"{GROUP}/{PLURALS[kind]}/{name}")
