"""The objects of Longshore on the API server, as a thread last read them."""

import base64
import http.client
import json
import pathlib
import ssl
import tempfile
import threading
import time
import urllib.parse

READ_INTERVAL_S = 0.1
TIMEOUT_S = 5


def tls_context(cluster, user):
    ca = base64.b64decode(cluster.get("certificate-authority-data", "")).decode()
    context = ssl.create_default_context(cadata=ca or None)  # None: the system's CAs.
    if "client-certificate-data" not in user:
        return context
    with tempfile.NamedTemporaryFile() as pair:
        pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        pair.flush()
        context.load_cert_chain(pair.name)
    return context


def auth_headers(user):
    """The header with the user's token. A token file is read again for each request, because tokens in files are renewed."""
    token = pathlib.Path(user["tokenFile"]).read_text().strip() if "tokenFile" in user else user.get("token")
    return {"Authorization": f"Bearer {token}"} if token else {}


class Objects:
    """Safe to use from any thread. The methods return the state of the last read that succeeded (`read_at`)."""

    def __init__(self, target, namespace):
        self.namespace = namespace
        cluster, user = target.api_of_kubeconfig()
        self._host = urllib.parse.urlsplit(cluster["server"])
        self._tls, self._user = tls_context(cluster, user), user
        group = f"/apis/longshore.dev/v1alpha1/namespaces/{namespace}"
        self._paths = {"Model": f"{group}/models", "ServingFleet": f"{group}/servingfleets",
                       "Pod": f"/api/v1/namespaces/{namespace}/pods",
                       "Deployment": f"/apis/apps/v1/namespaces/{namespace}/deployments",
                       "Lease": f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"}
        self._objects = {kind: {} for kind in self._paths}
        self.rollouts = []   # (monotonic, rollout) of digits, one per change.
        self.leaders = []    # (monotonic, holder), one per change.
        self.read_at = time.monotonic()  # The last read that succeeded.
        self._ending = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def end(self):
        self._ending.set()
        self._watcher.join()

    def _watch(self):
        connection = None
        while not self._ending.wait(READ_INTERVAL_S):
            try:
                connection = connection or http.client.HTTPSConnection(self._host.hostname, self._host.port,
                                                                       context=self._tls, timeout=TIMEOUT_S)
                for kind, path in self._paths.items():
                    connection.request("GET", path, headers=auth_headers(self._user))
                    answer = connection.getresponse()
                    text = answer.read()
                    if answer.status == 200:
                        self._objects[kind] = self._by_name(json.loads(text))
                    elif answer.status != 404:  # 404: the kind is not installed yet, so it has no objects.
                        raise ValueError(f"{path}: {answer.status} {text[:200]}")
                self.read_at = time.monotonic()
            except (OSError, http.client.HTTPException, ValueError):
                connection = None  # `read_at` shows how old the objects are.
                continue
            self._append_change(self.rollouts, self.rollout("digits"))
            self._append_change(self.leaders, self.leader())

    @staticmethod
    def _by_name(answer):
        return {item["metadata"]["name"]: item for item in answer.get("items", [])}

    @staticmethod
    def _append_change(timeline, now):
        if now and (not timeline or timeline[-1][1] != now):
            timeline.append((time.monotonic(), now))

    def named(self, kind, name):
        return self._objects[kind].get(name, {})

    def status(self, kind, name):
        return self.named(kind, name).get("status") or {}

    def rollout(self, model):
        return self.status("Model", model).get("rollout") or {}

    def serves(self, model):
        return self.status("Model", model).get("stableVersion", 0)

    def failure(self, model, version):
        """The newest entry of a version in status.failed; None if the version has not failed."""
        failed = [entry for entry in self.status("Model", model).get("failed", []) if entry["version"] == version]
        return failed[-1] if failed else None

    def ready_nodes(self, fleet):
        return sorted(node["name"] for node in self.status("ServingFleet", fleet).get("nodes", []) if node["state"] == "Ready")

    def leader(self):
        """The pod that holds the Lease; "" if none does."""
        spec = self.named("Lease", "longshore-controller").get("spec") or {}
        return (spec.get("holderIdentity") or "").rpartition("_")[0]

    def pods(self, leaving=False, **labels):
        """The pods with these labels, by name. `leaving`: include pods that are being deleted."""
        def matches(pod):
            pod_labels = pod["metadata"].get("labels", {})
            return (all(pod_labels.get(name) == value for name, value in labels.items())
                    and (leaving or "deletionTimestamp" not in pod["metadata"]))
        return {name: pod for name, pod in self._objects["Pod"].items() if matches(pod)}

    def nodes_of(self, fleet):
        return self.pods(**{"app.kubernetes.io/name": "longshore-node", "longshore.dev/fleet": fleet})

    def controllers(self, leaving=False):
        return self.pods(leaving, **{"app.kubernetes.io/name": "longshore-controller"})

    def epoch(self, fleet):
        """The epoch of the controller that last reconciled the fleet."""
        return self.status("ServingFleet", fleet).get("epoch", 0)


def is_ready(pod):
    return any(condition["type"] == "Ready" and condition["status"] == "True"
               for condition in pod.get("status", {}).get("conditions", []))


def restarts(pod):
    return sum(status["restartCount"] for status in pod.get("status", {}).get("containerStatuses", []))
