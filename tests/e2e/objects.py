"""What the API server says of our objects, as last read by a thread."""

import base64
import http.client
import json
import pathlib
import ssl
import tempfile
import threading
import time
import urllib.parse

LOOK_INTERVAL_S = 0.1
TIMEOUT_S = 5


def tls_of(cluster, user):
    authority = base64.b64decode(cluster.get("certificate-authority-data", "")).decode()
    context = ssl.create_default_context(cadata=authority or None)  # None: those of the system.
    if "client-certificate-data" not in user:
        return context
    with tempfile.NamedTemporaryFile() as pair:
        pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        pair.flush()
        context.load_cert_chain(pair.name)
    return context


def headers_of(user):
    """A token that is in a file is read again each time."""
    token = pathlib.Path(user["tokenFile"]).read_text().strip() if "tokenFile" in user else user.get("token")
    return {"Authorization": f"Bearer {token}"} if token else {}


class Objects:
    """Safe to ask from any thread. `lease`, `pods` and so on are what was there at the last look that succeeded."""

    def __init__(self, place, namespace):
        self.namespace = namespace
        cluster, user = place.api_of_kubeconfig()
        self._host = urllib.parse.urlsplit(cluster["server"])
        self._tls, self._user = tls_of(cluster, user), user
        group = f"/apis/longshore.dev/v1alpha1/namespaces/{namespace}"
        self._paths = {"Model": f"{group}/models", "ServingFleet": f"{group}/servingfleets",
                       "Pod": f"/api/v1/namespaces/{namespace}/pods",
                       "Deployment": f"/apis/apps/v1/namespaces/{namespace}/deployments",
                       "Lease": f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"}
        self._objects = {kind: {} for kind in self._paths}
        self.rollouts = []   # (monotonic, rollout) of digits, one per change.
        self.leaders = []    # (monotonic, holder), one per change.
        self.looked_at = time.monotonic()  # The newest look that succeeded.
        self._ending = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def end(self):
        self._ending.set()
        self._watcher.join()

    def _watch(self):
        connection = None
        while not self._ending.wait(LOOK_INTERVAL_S):
            try:
                connection = connection or http.client.HTTPSConnection(self._host.hostname, self._host.port,
                                                                       context=self._tls, timeout=TIMEOUT_S)
                for kind, path in self._paths.items():
                    connection.request("GET", path, headers=headers_of(self._user))
                    answer = connection.getresponse()
                    text = answer.read()
                    if answer.status == 200:
                        self._objects[kind] = self._named(json.loads(text))
                    elif answer.status != 404:  # Kinds that are not there have no objects.
                        raise ValueError(f"{path}: {answer.status} {text[:200]}")
                self.looked_at = time.monotonic()
            except (OSError, http.client.HTTPException, ValueError):
                connection = None  # Whoever asks sees how old the view is.
                continue
            self._note(self.rollouts, self.rollout("digits"))
            self._note(self.leaders, self.leader())

    @staticmethod
    def _named(answer):
        return {item["metadata"]["name"]: item for item in answer.get("items", [])}

    @staticmethod
    def _note(timeline, now):
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
        """Why a version failed, the newest entry; None when it did not."""
        failed = [entry for entry in self.status("Model", model).get("failed", []) if entry["version"] == version]
        return failed[-1] if failed else None

    def ready_nodes(self, fleet):
        return sorted(node["name"] for node in self.status("ServingFleet", fleet).get("nodes", []) if node["state"] == "Ready")

    def leader(self):
        """The pod that holds the Lease; "" when nobody does."""
        spec = self.named("Lease", "longshore-controller").get("spec") or {}
        return (spec.get("holderIdentity") or "").rpartition("_")[0]

    def pods(self, leaving=False, **labels):
        """Those with these labels, by name; what is leaving is none, unless it is wanted too."""
        def is_one(pod):
            said = pod["metadata"].get("labels", {})
            return (all(said.get(name) == value for name, value in labels.items())
                    and (leaving or "deletionTimestamp" not in pod["metadata"]))
        return {name: pod for name, pod in self._objects["Pod"].items() if is_one(pod)}

    def nodes_of(self, fleet):
        return self.pods(**{"app.kubernetes.io/name": "longshore-node", "longshore.dev/fleet": fleet})

    def controllers(self, leaving=False):
        return self.pods(leaving, **{"app.kubernetes.io/name": "longshore-controller"})

    def epoch(self, fleet):
        """Of the controller that looked at the fleet last."""
        return self.status("ServingFleet", fleet).get("epoch", 0)


def is_ready(pod):
    return any(condition["type"] == "Ready" and condition["status"] == "True"
               for condition in pod.get("status", {}).get("conditions", []))


def restarts(pod):
    return sum(status["restartCount"] for status in pod.get("status", {}).get("containerStatuses", []))
