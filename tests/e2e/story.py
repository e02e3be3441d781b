"""The acts of ./dev e2e, in order: what an administrator and accidents do to Longshore on a cluster, under load."""

import collections
import json
import time

import checks
import load
import programs
import telling
from objects import is_ready, restarts
from place import CLAIM, ROOT, TAGS

NAMESPACE = "longshore-e2e"
CHART = ROOT / "helm/longshore"
STEPS = [10, 50]
HOLD_S = 6
DIGITS_RATE = 120
QUIET_RATE, BUSY_RATE, CALM_RATE = 40, 150, 15
RETRIES = 6               # A Service of Kubernetes sends to a dead pod until it is told; clients try again.
FAILOVER_MAX_S = 3
UNINSTALL_MAX_S = 30
OUTAGE_S = 20             # How long the API server is away, where nobody says otherwise.
GUARD_MAX_S = 5           # From then on no node gives a bad version weight.
READY_MAX_S = 120
VIEW_AGE_MAX_S = 10       # What was seen of the cluster is not older, while there is an API server.
LEASE = {"duration": "2s", "renewDeadline": "1500ms", "retryPeriod": "300ms"}
IMAGE_BYTES = 8 * 8 * 4
# v2 is a larger network than v1 and may take up to five times as long; after it no version may take half as long again.
TOLERANCES = {1: 4, 2: 4, 3: 0.5, 4: 0.5, 5: 0.5}
STABLE = 2                # What serves after the first rollout.


def fleet(name, service_type, **spec):
    volume = {"name": "models", "mountPath": "/models", "persistentVolumeClaim": {"claimName": CLAIM, "readOnly": True}}
    return {"apiVersion": "longshore.dev/v1alpha1", "kind": "ServingFleet", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"replicas": {"min": 2}, "modelVolumes": [volume], "service": {"type": service_type}, **spec}}


def model(name, of_fleet, version, **spec):
    return {"apiVersion": "longshore.dev/v1alpha1", "kind": "Model", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"fleet": of_fleet, "source": {"uri": f"file:///models/{name}"}, "version": version, **spec}}


def digits(version):
    return model("digits", "main", version,
                 validation={"goldenSet": {"path": "golden/golden.tfrecord", "metric": "top1", "minimum": 0.95},
                             "nonFinite": "Reject"},
                 rollout={"steps": [{"weight": weight} for weight in STEPS], "hold": f"{HOLD_S}s", "requestsMin": 100,
                          "analysis": {"latency": {"tolerance": TOLERANCES[version]}}})


WAITING = {"replicas": {"min": 1, "max": 3},
           "engine": {"concurrentRuns": 2, "simulatedRun": "20ms"},  # At most 100 requests per second and node.
           "autoscaling": {"queueDelay": "20ms", "utilization": "70%", "metricsAgeMax": "5s",
                           "scaleDownStabilization": "10s", "scaleUpCooldown": "3s"}}


class Story(telling.Telling):
    """`place`: where it plays. `see`: gives what looks at the objects, once there is a cluster. `outage_s`: how long the
    API server is away."""

    def __init__(self, folder, place, see, bin_folder, outage_s=OUTAGE_S):
        super().__init__(programs.Programs(folder / "logs"))
        self.folder, self.place, self.bin, self.outage_s = folder, place, bin_folder, outage_s
        self._see = see
        self.seen = None

    def state(self):
        """For the view."""
        if self.seen is None:
            return [], [], []
        models = [(name, self.seen.status("Model", name)) for name in ("digits", "halves")]
        fleets = [(name, self.seen.status("ServingFleet", name)) for name in ("main", "waiting")]
        loads = [(name, generator.progress) for name, generator in list(self.loads.items()) if generator.final is None]
        return [pair for pair in models if pair[1]], [pair for pair in fleets if pair[1]], loads

    def play(self):
        acts = [("A cluster", self.start),
                ("helm install", self.install),
                ("kubectl apply: a fleet of two nodes, v1 of a model", self.apply),
                ("v2: a canary, promoted on evidence", self.promote_v2),
                ("v3: trained on wrong labels", self.refuse_v3),
                ("v4: answers NaN to some users", self.roll_back_v4),
                ("The load on a second fleet grows, and ends", self.scale),
                ("The controller that leads is killed", self.kill_leader),
                ("A node is killed, then a pod deleted", self.kill_node),
                ("No controller: every node is killed once", self.without_controller),
                ("helm upgrade", self.upgrade),
                ("A new node image", self.roll_image)]
        if self.place.can_stop_the_api:
            acts.append(("The API server is away, with a bad version at work", self.without_api))
        self.tell([*acts, ("helm uninstall", self.uninstall), ("The ledger", self.close_ledgers)])

    # -------------------------------------------------------------------------------------------- small words

    def apply_object(self, manifest):
        self.place.kubectl("apply", "-f", "-", input=json.dumps(manifest))

    def deploy(self, verb, tag):
        settings = {"image.tag": tag, "node.image.tag": tag, "replicas": 2,
                    **{f"lease.{name}": value for name, value in LEASE.items()}}
        return self.place.helm(verb, "longshore", CHART, "--namespace", NAMESPACE, "--wait", "--timeout=120s",
                               *(f"--set={name}={value}" for name, value in settings.items()))

    def start_load(self, name, of_fleet, *flags):
        grpc, rest = (self.place.address(self.seen.status("ServingFleet", of_fleet)[f"{protocol}Address"], protocol)
                      for protocol in ("grpc", "rest"))
        command = self.place.inside([self.bin / "longshore-load", f"--grpc={grpc}", f"--rest={rest}", f"--retries={RETRIES}",
                                     *flags])
        self.loads[name] = load.Load(self.programs, f"load-{name}", command)

    def fleet_is_ready(self, name, nodes):
        """So many pods, ready by Kubernetes and by the controller, and no other."""
        pods = self.seen.nodes_of(name)
        return len(pods) == nodes and self.seen.ready_nodes(name) == sorted(pods) and all(map(is_ready, pods.values()))

    def has_nodes_since(self, epoch):
        """Whether a controller of a later term has them."""
        return self.seen.epoch("main") > epoch and self.fleet_is_ready("main", 2)

    def wait(self, until, patience_s):
        came = super().wait(until, patience_s)
        if self.seen is not None and time.monotonic() - self.seen.looked_at > VIEW_AGE_MAX_S:
            raise programs.DemoError("the API server does not answer")
        return came

    def is_over(self, version, phase):
        rollout = self.seen.rollout("digits")
        return rollout.get("candidate") == version and rollout.get("phase") == phase

    def verdict(self):
        said = self.seen.rollout("digits").get("verdict") or {}
        return f"{said.get('result')} ({said.get('reason')}): {said.get('message')}"

    def conditions(self, kind, name):
        return [f"{condition['type']}={condition['status']} {condition['message']}"
                for condition in self.seen.status(kind, name).get("conditions", []) if condition["message"]]

    def quiet(self, segment, then, seconds=2):
        """The counts of what was sent since `segment` began. `then`: what may answer from now on."""
        self.pause(seconds)
        self.mark(f"after {segment}", then)
        return self.loads["digits"].segment(segment, patience_s=20)

    def expect_no_failure(self, what, segment, then=frozenset({STABLE}), may_retry=False):
        """`may_retry`: connections die, because what they lead to is killed."""
        counts = self.quiet(segment, then)
        self.expect(f"{what}: no request fails", counts["failed"] == 0 and (may_retry or counts["retried"] == 0),
                    load.trouble(counts))

    def fingerprints(self):
        """What changes when a node is restarted or replaced."""
        return {name: (pod["metadata"]["uid"], restarts(pod)) for name, pod in self.seen.nodes_of("main").items()}

    # -------------------------------------------------------------------------------------------- acts

    def start(self):
        self.place.start(NAMESPACE, self.view.note)
        self.seen = self._see(self.place, NAMESPACE)

    def install(self):
        began = time.monotonic()
        self.deploy("install", TAGS[0])
        met = self.wait(self.seen.leader, 30)
        self.expect("installed, and one of two controllers leads", met and len(self.seen.controllers()) == 2,
                    f"{time.monotonic() - began:.1f} s")

    def apply(self):
        began = time.monotonic()
        self.apply_object(fleet("main", self.place.service_type))
        self.apply_object(digits(1))
        met = self.wait(lambda: self.fleet_is_ready("main", 2) and self.seen.serves("digits") == 1, READY_MAX_S)
        self.expect("a fleet of two nodes serves v1", met, f"after {time.monotonic() - began:.1f} s; "
                    f"{'; '.join(self.conditions('ServingFleet', 'main') + self.conditions('Model', 'digits'))}")
        if not met:
            raise programs.DemoError("v1 is not served")
        self.pause(1)
        data = ROOT / "tests/models/digits/traffic.f32"
        self.start_load("digits", "main", "--model=digits", "--input=image", "--shape=1,8,8,1", f"--data={data}",
                        f"--rate={DIGITS_RATE}", "--rest_share=0.2")
        self.mark("v1 serves", {1})
        self.expect_no_failure("v1 serves", "v1 serves", then={1})

    def promote_v2(self):
        self.mark("v2", {1, 2})
        before = self.fingerprints()
        self.apply_object(digits(2))
        met = self.wait(lambda: self.seen.serves("digits") == 2 and self.is_over(2, "Completed"), READY_MAX_S)
        weights = sorted({rollout["weight"] for _, rollout in self.seen.rollouts
                          if rollout["candidate"] == 2 and rollout["phase"] == "Step" and rollout["weight"] > 0})
        self.expect("v2 promoted on evidence", met and weights == STEPS, f"steps {weights}; {self.verdict()}")
        self.expect_no_failure("a rollout", "v2")
        self.expect("a rollout restarts no pod", before == self.fingerprints(), f"{len(before)} pods as before")

    def refuse_v3(self):
        self.mark("v3", {STABLE})
        self.apply_object(digits(3))
        self.wait(lambda: self.seen.failure("digits", 3), READY_MAX_S)
        counts = self.quiet("v3", then={STABLE})
        failure = self.seen.failure("digits", 3) or {}
        users = checks.answers(counts, 3)
        self.expect("v3 stopped by the golden set before any user saw it", failure.get("reason") == "GoldenSet" and users == 0,
                    f"{users} answers; {failure.get('message', 'it did not fail')}")

    def roll_back_v4(self):
        self.mark("v4", {STABLE, 4})
        self.apply_object(digits(4))
        self.wait(lambda: self.seen.rollout("digits").get("weight") == STEPS[0] or self.is_over(4, "RolledBack"), READY_MAX_S)
        self.send_nans()
        met = self.wait(lambda: self.is_over(4, "RolledBack"), READY_MAX_S)
        nan = self.loads.pop("nan").stop()
        self.pause(2)
        failure = self.seen.failure("digits", 4) or {}
        self.expect("v4 rolled back after its first non-finite answer", met and failure.get("reason") == "NonFinite",
                    failure.get("message", "it did not fail"))
        self.expect_no_failure("a rollback", "v4")
        self.expect("those users had answers too, of two versions", checks.not_answered_well(nan) == 0
                    and checks.wrong_versions({"nan": nan}, lambda _: {STABLE, 4}) == 0, f"{nan['answered']} answers")
        self.apply_object(digits(STABLE))
        told = self.events_of("digits")
        self.expect("each state of a rollout is told once, as an Event", told and max(told.values()) == 1,
                    ", ".join(sorted({reason for reason, _ in told})))

    def events_of(self, name):
        """(reason, message) -> how often it was told."""
        said = json.loads(self.place.kubectl("get", "events", "--namespace", NAMESPACE, "-o", "json",
                                             f"--field-selector=involvedObject.kind=Model,involvedObject.name={name}"))
        return collections.Counter((event["reason"], event["message"]) for event in said["items"])

    def send_nans(self):
        self.start_load("nan", "main", *self.images_for("digits", broken=True), "--rate=50")

    def images_for(self, name, broken):
        """Flags of a load: of the images those that v4 answers with NaN, or those that it does not."""
        images = (ROOT / "tests/models/digits/traffic.f32").read_bytes()
        is_broken = {int(line) for line in (ROOT / "tests/models/digits/traffic_nan.txt").read_text().split()}
        data = self.folder / f"{'broken' if broken else 'sound'}.f32"
        data.write_bytes(b"".join(images[at * IMAGE_BYTES:(at + 1) * IMAGE_BYTES] for at in range(len(images) // IMAGE_BYTES)
                                  if (at in is_broken) == broken))
        return f"--model={name}", "--input=image", "--shape=1,8,8,1", f"--data={data}"

    def scale(self):
        self.apply_object(fleet("waiting", self.place.service_type, **WAITING))
        self.apply_object(model("halves", "waiting", 1))
        ready = self.wait(lambda: self.fleet_is_ready("waiting", 1) and self.seen.serves("halves") == 1, READY_MAX_S)
        if not ready:
            return self.expect("a second fleet of one node", False, self.conditions("ServingFleet", "waiting"))
        self.pause(1)
        self.start_load("busy", "waiting", "--model=halves", f"--rate={QUIET_RATE}", "--connections=24")
        self.pause(3)
        self.loads["busy"].set_rate(BUSY_RATE)
        out = self.wait(lambda: len(self.seen.ready_nodes("waiting")) >= 2, READY_MAX_S)
        nodes = len(self.seen.ready_nodes("waiting"))
        self.expect("scaled out", out, f"{nodes} nodes; {self.scale_reason()}")
        self.pause(3)
        self.loads["busy"].mark("in")
        self.loads["busy"].set_rate(CALM_RATE)
        met = self.wait(lambda: len(self.seen.nodes_of("waiting")) == 1, READY_MAX_S)
        self.expect("scaled in when quiet", met, f"{len(self.seen.nodes_of('waiting'))} nodes; {self.scale_reason()}")
        self.pause(3)
        final = self.loads.pop("busy").stop()
        self.expect("scaling: no request fails", checks.not_answered_well(final) == 0,
                    f"{checks.not_answered_well(final)} of {final['sent']} failed, {final['retried']} sent again")
        self.place.kubectl("delete", "models/halves", "servingfleets/waiting", "--namespace", NAMESPACE)
        gone = self.wait(lambda: not self.seen.nodes_of("waiting") and not self.seen.named("Deployment", "longshore-waiting"), 60)
        self.expect("a deleted fleet is gone, with its pods", gone, f"{len(self.seen.nodes_of('waiting'))} pods")
        return None

    def scale_reason(self):
        scale = self.seen.status("ServingFleet", "waiting").get("autoscale", {})
        return f"{scale.get('reason')}: {scale.get('message')}"

    def kill_leader(self):
        self.mark("leader killed", {STABLE})
        before = self.seen.leader()
        epoch = self.seen.epoch("main")
        killed = time.monotonic()
        self.place.kill(self.seen.controllers()[before])
        self.wait(lambda: self.seen.leader() not in ("", before), 30)
        taken = next((at for at, holder in self.seen.leaders if at > killed and holder not in ("", before)), None)
        took = f"{taken - killed:.1f} s" if taken else "never"
        self.expect(f"another controller leads within {FAILOVER_MAX_S} s", taken and taken - killed <= FAILOVER_MAX_S, took)
        met = self.wait(lambda: self.has_nodes_since(epoch), 30)
        self.expect("and has the nodes", met, f"epoch {self.seen.epoch('main')}, {time.monotonic() - killed:.1f} s after the kill")
        self.expect_no_failure("a killed controller", "leader killed")

    def kill_node(self):
        self.mark("node killed", {STABLE})
        name, pod = sorted(self.seen.nodes_of("main").items())[0]
        died = self.kill(name, pod)
        met = self.wait(lambda: self.fleet_is_ready("main", 2), READY_MAX_S)
        self.expect("a killed node comes back", died and met, f"{len(self.seen.ready_nodes('main'))} nodes ready")
        self.expect_no_failure("a killed node", "node killed", may_retry=True)
        self.mark("pod deleted", {STABLE})
        name = sorted(self.seen.nodes_of("main"))[-1]
        self.place.kubectl("delete", "pod", name, "--namespace", NAMESPACE, "--wait=false")
        gone = self.wait(lambda: name not in self.seen.nodes_of("main"), 20)
        met = self.wait(lambda: self.fleet_is_ready("main", 2), READY_MAX_S)
        self.expect("a deleted pod is replaced", gone and met, f"{len(self.seen.ready_nodes('main'))} nodes ready")
        self.expect_no_failure("a deleted pod", "pod deleted")

    def kill(self, name, pod):
        """Whether it is seen that it died: the pod counts it, or is gone where the place deletes it."""
        before = restarts(pod)
        self.place.kill(pod)
        self.view.note(f"{name}: SIGKILL")
        if not self.place.restarts_in_the_pod:
            return self.wait(lambda: name not in self.seen.nodes_of("main"), 20)
        return self.wait(lambda: restarts(self.seen.nodes_of("main").get(name, {})) == before + 1, READY_MAX_S)

    def without_controller(self):
        self.mark("no controller", {STABLE})
        ended = sum(map(restarts, self.seen.controllers().values()))
        killed = 1 if self.place.restarts_in_the_pod else 0
        self.expect("no controller ended but the one that was killed", ended == killed, f"{ended} restarts")
        epoch = self.seen.epoch("main")
        self.place.kubectl("scale", "deployment/longshore-controller", "--replicas=0", "--namespace", NAMESPACE)
        away = self.wait(lambda: not self.seen.controllers(leaving=True), 60)
        self.expect("there is no controller", away, f"{len(self.seen.controllers(leaving=True))} pods")
        if self.place.restarts_in_the_pod:
            self.kill_all_nodes()
        self.place.kubectl("apply", "-f", "-", input=json.dumps(model("later", "main", 1)))
        self.place.kubectl("delete", "models/later", "--namespace", NAMESPACE)
        self.expect("objects are applied and deleted without it", True, "a Model")
        self.expect_no_failure("without a controller", "no controller", may_retry=True)
        self.place.kubectl("scale", "deployment/longshore-controller", "--replicas=2", "--namespace", NAMESPACE)
        met = self.wait(lambda: self.has_nodes_since(epoch), 60)
        self.expect("a controller that comes back has them again", met, f"epoch {self.seen.epoch('main')}")

    def kill_all_nodes(self):
        back = []
        for name, pod in sorted(self.seen.nodes_of("main").items()):
            died = self.kill(name, pod)
            back.append(died and self.wait(lambda name=name: is_ready(self.seen.nodes_of("main").get(name, {})), READY_MAX_S))
            self.pause(2)
        self.expect("every node is killed, and comes back by itself", len(back) == 2 and all(back), f"{sum(back)} of {len(back)}")

    def upgrade(self):
        self.mark("upgrade", {STABLE})
        before, epoch = self.fingerprints(), self.seen.epoch("main")
        self.deploy("upgrade", TAGS[1])
        upgraded = time.monotonic()
        met = self.wait(lambda: self.has_nodes_since(epoch), 60)
        self.expect("upgraded, and the nodes have a controller again", met, f"{time.monotonic() - upgraded:.1f} s later")
        self.pause(3)
        self.expect("no node was restarted", before == self.fingerprints(), f"{len(before)} pods as before")
        self.expect_no_failure("an upgrade", "upgrade")

    def roll_image(self):
        self.mark("node image", {STABLE})
        before = self.fingerprints()
        image = f"longshore/node:{TAGS[1]}"
        self.apply_object(fleet("main", self.place.service_type, image=image))

        def is_rolled():
            pods = self.seen.nodes_of("main").values()
            return len(pods) == 2 and {pod["spec"]["containers"][0]["image"] for pod in pods} == {image}
        met = self.wait(lambda: is_rolled() and self.fleet_is_ready("main", 2), READY_MAX_S)
        self.expect("a new node image is rolled out", met and not set(before) & set(self.fingerprints()),
                    f"{len(self.seen.nodes_of('main'))} pods, all new")
        self.expect_no_failure("a new node image", "node image")

    def without_api(self):
        """Half of the requests go to a version that is bad for images which come only when the API server is away."""
        self.mark("no API server", {STABLE})
        guarded = {"source": {"uri": "file:///models/digits"}, "rollout": {"steps": [{"weight": 50, "pause": "Manual"}]}}
        self.apply_object(model("guarded", "main", STABLE, **guarded))
        self.wait(lambda: self.seen.serves("guarded") == STABLE, READY_MAX_S)
        self.apply_object(model("guarded", "main", 4, **guarded))
        met = self.wait(lambda: self.seen.rollout("guarded").get("weight") == 50, READY_MAX_S)
        self.expect("a version that will turn out bad has 50 %", met, self.seen.rollout("guarded").get("phase"))
        self.pause(1)
        self.start_load("guarded", "main", *self.images_for("guarded", broken=False), "--rate=40")
        self.pause(3)
        before, epoch = self.fingerprints(), self.seen.epoch("main")
        late = self.stop_api_for_the_outage()
        users = sum(checks.answers(segment, 4) for segment in late)
        self.expect("its nodes take it to 0 by themselves", users == 0,
                    f"{users} of {sum(checks.all_answers(segment) for segment in late)} answers in {self.outage_s} s")
        self.expect_leader_since(epoch)
        met = self.wait(lambda: self.seen.failure("guarded", 4), READY_MAX_S)
        failure = self.seen.failure("guarded", 4) or {}
        self.expect("and the controller writes down why, when it can", met, failure.get("message"))
        failed = sum(checks.not_answered_well(self.loads.pop(name).stop()) for name in ("guarded", "broken"))
        self.expect("without the API server: no request of that model fails", failed == 0, f"{failed} failed")
        self.expect_no_failure("without the API server", "no API server")
        self.expect("the outage restarts no node", before == self.fingerprints(), f"{len(before)} pods as before")
        self.place.kubectl("delete", "models/guarded", "--namespace", NAMESPACE)

    def stop_api_for_the_outage(self):
        """What the loads of `guarded` were answered while the API server was away, once its nodes had their time."""
        names = ("guarded", "broken")
        stopped = time.monotonic()
        self.place.stop_api()
        try:
            self.start_load("broken", "main", *self.images_for("guarded", broken=True), "--rate=40")
            self.pause(GUARD_MAX_S)
            for name in names:
                self.loads[name].mark("guarded")
            self.pause(max(self.outage_s - (time.monotonic() - stopped), 1))
            for name in names:
                self.loads[name].mark("back")
            return [self.loads[name].segment("guarded") for name in names]
        finally:
            self.place.continue_api()

    def expect_leader_since(self, epoch):
        """The API server first has to serve those who waited for it; until then the view is old."""
        back = time.monotonic()
        answers = super().wait(lambda: self.seen.looked_at > back, READY_MAX_S)
        self.expect("the API server answers again", answers, f"{time.monotonic() - back:.1f} s after it went on")
        met = self.wait(lambda: self.has_nodes_since(epoch), READY_MAX_S)
        self.expect("a controller leads and has the nodes", met,
                    f"epoch {self.seen.epoch('main')}, {time.monotonic() - back:.1f} s after it went on")

    def uninstall(self):
        self.mark("uninstall", {STABLE})
        began = time.monotonic()
        self.place.helm("uninstall", "longshore", "--namespace", NAMESPACE, "--wait", f"--timeout={UNINSTALL_MAX_S}s")
        gone = self.wait(lambda: not self.seen.controllers(leaving=True), UNINSTALL_MAX_S)
        took = time.monotonic() - began
        self.expect(f"uninstalled within {UNINSTALL_MAX_S} s, pods and all", gone and took <= UNINSTALL_MAX_S, f"{took:.1f} s")
        self.expect_no_failure("uninstalled: the nodes serve on", "uninstall")

    def close_ledgers(self):
        final = self.loads["digits"].stop()
        segments = self.loads["digits"].segments()
        self.result = {"requests": final["sent"], "failed": checks.not_answered_well(final), "retried": final["retried"],
                       "wrong_version": checks.wrong_versions(segments, lambda name: self.allowed.get(name, {1, STABLE}))}
        for name in ("failed", "wrong_version"):
            self.expect(f"{name}: 0", self.result[name] == 0, self.result[name])
        self.place.kubectl("delete", "models,servingfleets", "--all", "--namespace", NAMESPACE)
        gone = self.wait(lambda: not self.seen.nodes_of("main") and not self.seen.named("Deployment", "longshore-main"), 90)
        self.expect("without a controller too, deleted fleets take their pods with them", gone,
                    f"{len(self.seen.nodes_of('main'))} pods")
