"""The stages of ./dev e2e, in order: operations of an administrator and failures, on a cluster under load."""

import collections
import itertools
import json
import re
import subprocess
import time

import checks
import decisions
import images
import load
import programs
import trials
from manifests import NAMESPACE, STEPS, WAITING, digits, fleet, model, of_digits
from objects import is_ready, restarts
from quick_start import ANSWER, QuickStart
from target import ROOT, TAGS

CHART = ROOT / "helm/longshore"
DIGITS_RATE = 120
QUIET_RATE, BUSY_RATE, CALM_RATE = 40, 150, 15
RETRIES = 6               # A Kubernetes Service sends requests to a dead pod until its endpoints change; clients retry.
FAILOVER_MAX_S = 3
COMMAND_MAX_S = 30        # How long a person waits for the answer to a command while the leader changes.
UNINSTALL_MAX_S = 30
OUTAGE_S = 20             # How long the API server is stopped, unless --outage is given.
GUARD_MAX_S = 5           # After this time every node has set the weight of a bad version to 0.
READY_MAX_S = 120
VIEW_AGE_MAX_S = 10       # The objects are read at least this often while the API server runs.
LEASE = {"duration": "2s", "renewDeadline": "1500ms", "retryPeriod": "300ms"}
STABLE = 2                # The version that serves after the first rollout.


def describe_final(final):
    """Describes the counts of a whole load."""
    return f"{checks.failures_of(final)} of {final['sent']} requests failed, {final['retried']} were retried"


class E2eScenario(trials.Trials):
    """One run of ./dev e2e.

    `target`: the cluster under test. `objects_class`: reads the objects; created once the cluster runs. `outage_s`: how long
    the API server is stopped.
    """

    def __init__(self, folder, target, objects_class, bin_folder, outage_s=OUTAGE_S):
        super().__init__(programs.Programs(folder / "logs"))
        self.folder, self.target, self.bin, self.outage_s = folder, target, bin_folder, outage_s
        self._objects_class = objects_class

    def state(self):
        """The models, fleets and loads, for View."""
        if self.objects is None:
            return [], [], []
        models = [(name, self.objects.status("Model", name)) for name in ("digits", "halves", decisions.MODEL, trials.MODEL)]
        fleets = [(name, self.objects.status("ServingFleet", name)) for name in ("main", "waiting")]
        loads = [(name, generator.progress) for name, generator in list(self.loads.items()) if generator.final is None]
        return [pair for pair in models if pair[1]], [pair for pair in fleets if pair[1]], loads

    def run(self):
        stages = [("The cluster starts", self.start)]
        if self.target.is_temporary:
            stages.append(("The README's quick start", self.quick_start))
        stages = [*stages,
                  ("helm install", self.install),
                  ("kubectl apply: a fleet of two nodes with v1 of a model", self.apply),
                  ("v2: a canary that is promoted on evidence", self.promote_v2),
                  ("v3: trained on wrong labels, stopped before it gets traffic", self.stop_v3),
                  ("v4: passes its golden set, but answers NaN for some inputs", self.roll_back_v4),
                  ("The load on a second fleet rises and falls", self.scale),
                  (decisions.INCONCLUSIVE_TITLE, self.pause_without_a_proof),
                  (decisions.UNDO_TITLE, self.undo_a_promotion),
                  (trials.SHADOW_TITLE, self.find_in_shadow),
                  (trials.PREVIEW_TITLE, self.switch_and_undo),
                  ("The leading controller is killed while a person gives a command", self.kill_leader),
                  ("A node is killed, and then a pod is deleted", self.kill_node),
                  ("Without a controller, every node is killed once", self.without_controller),
                  ("helm upgrade", self.upgrade),
                  ("The node image is changed", self.roll_image)]
        if self.target.can_stop_the_api:
            stages.append(("The API server stops while a bad version has traffic", self.without_api))
        self.run_stages([*stages, ("helm uninstall", self.uninstall), ("The totals of the load", self.check_totals)])

    # -------------------------------------------------------------------------------------------- shared by the stages

    def apply_object(self, manifest):
        self.target.kubectl("apply", "-f", "-", input=json.dumps(manifest))

    def deploy(self, verb, tag):
        settings = {"image.tag": tag, "node.image.tag": tag, "replicas": 2,
                    **{f"lease.{name}": value for name, value in LEASE.items()}}
        return self.target.helm(verb, "longshore", CHART, "--namespace", NAMESPACE, "--wait", "--timeout=120s",
                                *(f"--set={name}={value}" for name, value in settings.items()))

    def start_load(self, name, fleet_name, *flags):
        grpc, rest = (self.target.address(self.objects.status("ServingFleet", fleet_name)[f"{protocol}Address"], protocol)
                      for protocol in ("grpc", "rest"))
        command = self.target.command_inside([self.bin / "longshore-load", "--json", f"--grpc={grpc}", f"--rest={rest}", f"--retries={RETRIES}",
                                              *flags])
        self.loads[name] = load.Load(self.programs, f"load-{name}", command)

    def fleet_is_ready(self, name, nodes):
        """Whether the fleet has exactly `nodes` pods, all ready for Kubernetes and for the controller."""
        pods = self.objects.nodes_of(name)
        return len(pods) == nodes and self.objects.ready_nodes(name) == sorted(pods) and all(map(is_ready, pods.values()))

    def has_nodes_since(self, epoch):
        """Whether the fleet is ready with a controller of a later epoch."""
        return self.objects.epoch("main") > epoch and self.fleet_is_ready("main", 2)

    def wait(self, until, timeout_s):
        result = super().wait(until, timeout_s)
        if self.objects is not None and time.monotonic() - self.objects.read_at > VIEW_AGE_MAX_S:
            raise programs.DemoError(f"the API server has not answered for more than {VIEW_AGE_MAX_S} s")
        return result

    def apply_quiet(self, version):
        self.apply_object(of_digits(decisions.MODEL, version, decisions.ROLLOUT))

    def apply_trial(self, version, rollout):
        self.apply_object(of_digits(trials.MODEL, version, rollout))

    def ask(self, headers):
        address = self.target.address(self.objects.status("ServingFleet", "main")["restAddress"], "rest")
        command = ["curl", "--silent", "--fail", "--max-time", "10", "--output", "/dev/null", "--dump-header", "-", "--data", trials.body(),
                   *itertools.chain(*(("--header", f"{name}: {value}") for name, value in headers.items())),
                   f"http://{address}/v1/models/{trials.MODEL}:predict"]
        answer = subprocess.run(self.target.command_inside(command), capture_output=True, text=True, check=False)
        found = re.search(r"^x-longshore-version: (\d+)", answer.stdout, re.MULTILINE)
        return int(found[1]) if found else None

    def place(self):
        return [f"--namespace={NAMESPACE}"]

    def environment(self):
        return self.target.environment()

    def conditions(self, kind, name):
        return [f"{condition['type']}={condition['status']} {condition['message']}"
                for condition in self.objects.status(kind, name).get("conditions", []) if condition["message"]]

    def end_segment(self, segment, then, seconds=2):
        """Waits, ends `segment` and returns its counts. `then`: the versions that may answer from now on."""
        self.pause(seconds)
        self.mark(f"after {segment}", then)
        return self.loads["digits"].segment(segment, timeout_s=20)

    def expect_no_failure(self, what, segment, then=frozenset({STABLE}), may_retry=False):
        """`may_retry`: retries are allowed, because the programs at the other end of connections are killed."""
        counts = self.end_segment(segment, then)
        met = counts["answered"] > 0 and counts["failed"] == 0 and (may_retry or counts["retried"] == 0)
        self.expect(f"{what}: no request fails", met, load.describe_failures(counts))

    def fingerprints(self):
        """The uid and the restarts of each node's pod, which change when the node is restarted or replaced."""
        return {name: (pod["metadata"]["uid"], restarts(pod)) for name, pod in self.objects.nodes_of("main").items()}

    def expect_same_pods(self, what, before):
        """`before`: the earlier fingerprints()."""
        now = self.fingerprints()
        unchanged = sum(now.get(name) == fingerprint for name, fingerprint in before.items())
        self.expect(what, before and now == before, f"{unchanged} of {len(before)} pods unchanged")

    # -------------------------------------------------------------------------------------------- stages

    def start(self):
        self.target.start(NAMESPACE, self.view.note)
        self.objects = self._objects_class(self.target, NAMESPACE)

    def quick_start(self):
        began = time.monotonic()
        quick = QuickStart(self.target)
        quick.prepare()
        printed = quick.run()
        listed = all(any(name in line for line in printed.splitlines()) for name in ("half-plus-two", "servingfleet.longshore.dev/cpu"))
        self.expect("the lines of the README's quick start work", listed, f"{time.monotonic() - began:.1f} s")
        answer = quick.predict()
        self.expect("the model of the quick start answers", answer == ANSWER, json.dumps(answer))
        quick.remove()

    def install(self):
        began = time.monotonic()
        self.deploy("install", TAGS[0])
        met = self.wait(self.objects.leader, 30)
        self.expect("helm installs two controllers, and one leads", met and len(self.objects.controllers()) == 2,
                    f"{time.monotonic() - began:.1f} s")

    def apply(self):
        began = time.monotonic()
        self.apply_object(fleet("main", self.target.service_type))
        self.apply_object(digits(1))
        met = self.wait(lambda: self.fleet_is_ready("main", 2) and self.objects.serves("digits") == 1, READY_MAX_S)
        self.expect("a fleet of two nodes serves v1", met, f"after {time.monotonic() - began:.1f} s; "
                    f"{'; '.join(self.conditions('ServingFleet', 'main') + self.conditions('Model', 'digits'))}")
        if not met:
            raise programs.DemoError(f"v1 was not served within {READY_MAX_S} s")
        self.pause(1)
        self.start_load("digits", "main", *images.load_flags("digits", self.folder, broken=False), f"--rate={DIGITS_RATE}",
                        "--rest_share=0.2")
        self.mark("v1 serves", {1})
        self.expect_no_failure("v1 serves", "v1 serves", then={1})

    def promote_v2(self):
        self.mark("v2", {1, 2})
        before = self.fingerprints()
        self.apply_object(digits(2))
        met = self.wait(lambda: self.objects.serves("digits") == 2 and self.is_over(2, "Completed"), READY_MAX_S)
        weights = sorted({rollout["weight"] for _, rollout in self.objects.rollouts
                          if rollout["candidate"] == 2 and rollout["phase"] == "Step" and rollout["weight"] > 0})
        self.expect("v2 is promoted on evidence", met and weights == STEPS, f"steps {weights}; {self.verdict()}")
        self.expect_no_failure("a rollout", "v2")
        self.expect_same_pods("a rollout restarts no pod", before)

    def stop_v3(self):
        self.mark("v3", {STABLE})
        self.apply_object(digits(3))
        self.wait(lambda: self.objects.failure("digits", 3), READY_MAX_S)
        counts = self.end_segment("v3", then={STABLE})
        failure = self.objects.failure("digits", 3) or {}
        users = checks.answers(counts, 3)
        self.expect("v3 is stopped by the golden set before any user gets its answers",
                    failure.get("reason") == "GoldenSet" and users == 0 and counts["answered"] > 0,
                    f"{users} answers to users; {failure.get('message', 'it did not fail')}")

    def roll_back_v4(self):
        self.mark("v4", {STABLE, 4})
        self.apply_object(digits(4))
        self.wait(lambda: self.objects.rollout("digits").get("weight") == STEPS[0] or self.is_over(4, "RolledBack"), READY_MAX_S)
        self.start_load("nan", "main", *images.load_flags("digits", self.folder, broken=True), "--rate=50")
        met = self.wait(lambda: self.is_over(4, "RolledBack"), READY_MAX_S)
        nan = self.loads.pop("nan").stop()
        self.pause(2)
        failure = self.objects.failure("digits", 4) or {}
        self.expect("v4 is rolled back after its first non-finite answer", met and failure.get("reason") == "NonFinite",
                    failure.get("message", "it did not fail"))
        self.expect_no_failure("a rollback", "v4")
        self.expect("requests with these inputs are all answered, by stable or v4", checks.has_no_failure(nan)
                    and checks.count_wrong_versions({"nan": nan}, lambda _: {STABLE, 4}) == 0, f"{nan['answered']} answers")
        self.apply_object(digits(STABLE))
        events = self.events_of("digits")
        self.expect("each state of a rollout is reported once, as an Event", events and max(events.values()) == 1,
                    ", ".join(sorted({reason for reason, _ in events})))

    def events_of(self, name):
        """The Events of a Model: (reason, message) -> how often the Event was created."""
        events = json.loads(self.target.kubectl("get", "events", "--namespace", NAMESPACE, "-o", "json",
                                                f"--field-selector=involvedObject.kind=Model,involvedObject.name={name}"))
        return collections.Counter((event["reason"], event["message"]) for event in events["items"])

    def scale(self):
        self.apply_object(fleet("waiting", self.target.service_type, **WAITING))
        self.apply_object(model("halves", "waiting", 1))
        ready = self.wait(lambda: self.fleet_is_ready("waiting", 1) and self.objects.serves("halves") == 1, READY_MAX_S)
        if not ready:
            return self.expect("a second fleet of one node is ready", False, self.conditions("ServingFleet", "waiting"))
        self.pause(1)
        self.start_load("busy", "waiting", "--model=halves", f"--rate={QUIET_RATE}", "--connections=24")
        self.pause(3)
        self.loads["busy"].set_rate(BUSY_RATE)
        out = self.wait(lambda: len(self.objects.ready_nodes("waiting")) >= 2, READY_MAX_S)
        nodes = len(self.objects.ready_nodes("waiting"))
        self.expect("the fleet is scaled out", out, f"{nodes} nodes; {self.scale_reason()}")
        self.pause(3)
        self.loads["busy"].mark("in")
        self.loads["busy"].set_rate(CALM_RATE)
        met = self.wait(lambda: len(self.objects.nodes_of("waiting")) == 1, READY_MAX_S)
        self.expect("the fleet is scaled in when the load is low", out and met,
                    f"{len(self.objects.nodes_of('waiting'))} nodes; {self.scale_reason()}")
        self.pause(3)
        final = self.loads.pop("busy").stop()
        self.expect("scaling a fleet: no request fails", checks.has_no_failure(final), describe_final(final))
        self.target.kubectl("delete", "models/halves", "servingfleets/waiting", "--namespace", NAMESPACE)
        gone = self.wait(lambda: not self.objects.nodes_of("waiting") and not self.objects.named("Deployment", "longshore-waiting"), 60)
        self.expect("a deleted fleet is removed with its pods", gone, f"{len(self.objects.nodes_of('waiting'))} pods left")
        return None

    def scale_reason(self):
        scale = self.objects.status("ServingFleet", "waiting").get("autoscale", {})
        return f"{scale.get('reason')}: {scale.get('message')}"

    def between_switch_and_undo(self):
        """The undo is for another controller than the switch."""
        before, epoch = self.objects.leader(), self.objects.epoch("main")
        self.target.kill(self.objects.controllers()[before])
        met = self.wait(lambda: self.has_nodes_since(epoch), 30)
        self.expect("a controller is killed after the switch, and another one leads", met, f"epoch {self.objects.epoch('main')}")

    def kill_leader(self):
        done, printed = self.run_longshore("undo", decisions.MODEL, "--to=2")
        self.expect(f"`longshore undo {decisions.MODEL} --to=2` goes forward again", done, printed)
        self.mark("leader killed", {STABLE})
        before = self.objects.leader()
        epoch = self.objects.epoch("main")
        command = self.start_longshore("undo", decisions.MODEL, "--to=1", f"--timeout={COMMAND_MAX_S}s")
        killed = time.monotonic()
        self.target.kill(self.objects.controllers()[before])
        done, printed = decisions.finish(command)
        answered = time.monotonic()
        self.wait(lambda: self.objects.leader() not in ("", before), 30)
        taken_at = next((at for at, holder in self.objects.leaders if at > killed and holder not in ("", before)), None)
        took = f"{taken_at - killed:.1f} s" if taken_at else "never"
        self.expect(f"another controller leads within {FAILOVER_MAX_S} s", taken_at and taken_at - killed <= FAILOVER_MAX_S, took)
        met = self.wait(lambda: self.has_nodes_since(epoch), 30)
        self.expect("the new leader controls the nodes", met,
                    f"epoch {self.objects.epoch('main')}, {time.monotonic() - killed:.1f} s after the kill")
        self.expect("a command that is given while the leader is killed is executed", done,
                    f"{answered - killed:.1f} s after the kill; {printed}")
        self.expect_undone("the new leader does not roll out the version that was left", "new leader")
        self.expect_no_failure("a killed controller", "leader killed")
        for name in (decisions.MODEL, trials.MODEL):
            self.stop_model(name)

    def stop_model(self, name):
        final = self.loads.pop(name).stop()
        self.expect(f"{name}: no request fails", checks.has_no_failure(final), describe_final(final))
        self.target.kubectl("delete", f"models/{name}", "--namespace", NAMESPACE)

    def kill_node(self):
        self.mark("node killed", {STABLE})
        name, pod = sorted(self.objects.nodes_of("main").items())[0]
        died = self.kill(name, pod)
        met = self.wait(lambda: self.fleet_is_ready("main", 2), READY_MAX_S)
        self.expect("a killed node becomes ready again", died and met, f"{len(self.objects.ready_nodes('main'))} nodes ready")
        self.expect_no_failure("a killed node", "node killed", may_retry=True)
        self.mark("pod deleted", {STABLE})
        name = sorted(self.objects.nodes_of("main"))[-1]
        self.target.kubectl("delete", "pod", name, "--namespace", NAMESPACE, "--wait=false")
        gone = self.wait(lambda: name not in self.objects.nodes_of("main"), 20)
        met = self.wait(lambda: self.fleet_is_ready("main", 2), READY_MAX_S)
        self.expect("a deleted pod is replaced", gone and met, f"{len(self.objects.ready_nodes('main'))} nodes ready")
        self.expect_no_failure("a deleted pod", "pod deleted")

    def kill(self, name, pod):
        """Kills a node. Returns whether its pod shows the restart or, on an existing cluster, is deleted."""
        before = restarts(pod)
        self.target.kill(pod)
        self.view.note(f"{name}: killed")
        if not self.target.restarts_in_place:
            return self.wait(lambda: name not in self.objects.nodes_of("main"), 20)
        return self.wait(lambda: restarts(self.objects.nodes_of("main").get(name, {})) == before + 1, READY_MAX_S)

    def without_controller(self):
        self.mark("no controller", {STABLE})
        ended = sum(map(restarts, self.objects.controllers().values()))
        killed = 2 if self.target.restarts_in_place else 0  # After the switch of "trial", and as the leader.
        self.expect("no controller restarted except the killed ones", ended == killed, f"{ended} restarts, {killed} killed")
        epoch = self.objects.epoch("main")
        self.target.kubectl("scale", "deployment/longshore-controller", "--replicas=0", "--namespace", NAMESPACE)
        away = self.wait(lambda: not self.objects.controllers(leaving=True), 60)
        self.expect("the controllers are stopped", away, f"{len(self.objects.controllers(leaving=True))} pods left")
        if self.target.restarts_in_place:
            self.kill_all_nodes()
        self.apply_and_delete_a_model()
        self.expect_no_failure("without a controller", "no controller", may_retry=True)
        self.target.kubectl("scale", "deployment/longshore-controller", "--replicas=2", "--namespace", NAMESPACE)
        met = self.wait(lambda: self.has_nodes_since(epoch), 60)
        self.expect("a new controller controls the nodes", met, f"epoch {self.objects.epoch('main')}")

    def apply_and_delete_a_model(self):
        self.apply_object(model("later", "main", 1))
        stored = json.loads(self.target.kubectl("get", "models/later", "--namespace", NAMESPACE, "-o", "json"))
        self.target.kubectl("delete", "models/later", "--namespace", NAMESPACE)
        left = self.target.kubectl("get", "models/later", "--namespace", NAMESPACE, "--ignore-not-found", "-o", "name").strip()
        self.expect("objects can be applied and deleted without a controller", stored["spec"]["version"] == 1 and not left,
                    f"a Model with version {stored['spec']['version']}; afterwards: {left or 'deleted'}")

    def kill_all_nodes(self):
        back = []
        for name, pod in sorted(self.objects.nodes_of("main").items()):
            died = self.kill(name, pod)
            back.append(died and self.wait(lambda name=name: is_ready(self.objects.nodes_of("main").get(name, {})), READY_MAX_S))
            self.pause(2)
        self.expect("each killed node becomes ready without a controller", len(back) == 2 and all(back), f"{sum(back)} of {len(back)}")

    def upgrade(self):
        self.mark("upgrade", {STABLE})
        before, epoch = self.fingerprints(), self.objects.epoch("main")
        self.deploy("upgrade", TAGS[1])
        upgraded = time.monotonic()
        met = self.wait(lambda: self.has_nodes_since(epoch), 60)
        self.expect("after helm upgrade a new controller controls the nodes", met, f"{time.monotonic() - upgraded:.1f} s after the upgrade")
        self.pause(3)
        self.expect_same_pods("an upgrade restarts no node", before)
        self.expect_no_failure("an upgrade", "upgrade")

    def roll_image(self):
        self.mark("node image", {STABLE})
        before = self.fingerprints()
        image = f"longshore/node:{TAGS[1]}"
        self.apply_object(fleet("main", self.target.service_type, image=image))

        def is_rolled():
            pods = self.objects.nodes_of("main").values()
            return len(pods) == 2 and {pod["spec"]["containers"][0]["image"] for pod in pods} == {image}
        met = self.wait(lambda: is_rolled() and self.fleet_is_ready("main", 2), READY_MAX_S)
        self.expect("a new node image replaces all pods", met and not set(before) & set(self.fingerprints()),
                    f"{len(self.objects.nodes_of('main'))} pods")
        self.expect_no_failure("a new node image", "node image")

    def without_api(self):
        """Half of the requests go to a version that fails for certain images, which are sent only while the API server is stopped."""
        self.mark("no API server", {STABLE})
        guarded = {"source": {"uri": "file:///models/digits"}, "rollout": {"steps": [{"weight": 50, "pause": "Manual"}]}}
        self.apply_object(model("guarded", "main", STABLE, **guarded))
        self.wait(lambda: self.objects.serves("guarded") == STABLE, READY_MAX_S)
        self.apply_object(model("guarded", "main", 4, **guarded))
        met = self.wait(lambda: self.objects.rollout("guarded").get("weight") == 50, READY_MAX_S)
        self.expect("the bad version gets 50 % of the requests", met, self.objects.rollout("guarded").get("phase"))
        self.pause(1)
        self.start_load("guarded", "main", *images.load_flags("guarded", self.folder, broken=False), "--rate=40")
        self.pause(3)
        before, epoch = self.fingerprints(), self.objects.epoch("main")
        late = self.stop_api_for_the_outage()
        users = sum(checks.answers(segment, 4) for segment in late)
        total = sum(map(checks.all_answers, late))
        self.expect("the nodes set the bad version's weight to 0 on their own", users == 0 and all(map(checks.all_answers, late)),
                    f"{users} of {total} answers came from it in {self.outage_s} s")
        self.expect_leader_since(epoch)
        met = self.wait(lambda: self.objects.failure("guarded", 4), READY_MAX_S)
        failure = self.objects.failure("guarded", 4) or {}
        self.expect("the controller records the reason once it can", met, failure.get("message"))
        finals = [self.loads.pop(name).stop() for name in ("guarded", "broken")]
        self.expect("without the API server: no request to that model fails", all(map(checks.has_no_failure, finals)),
                    f"{sum(map(checks.failures_of, finals))} of {sum(final['sent'] for final in finals)} requests failed")
        self.expect_no_failure("without the API server", "no API server")
        self.expect_same_pods("an outage of the API server restarts no node", before)
        self.target.kubectl("delete", "models/guarded", "--namespace", NAMESPACE)

    def stop_api_for_the_outage(self):
        """Stops the API server for `outage_s`. Returns the counts of the model's loads, from GUARD_MAX_S after the stop on."""
        names = ("guarded", "broken")
        stopped = time.monotonic()
        self.target.stop_api()
        try:
            self.start_load("broken", "main", *images.load_flags("guarded", self.folder, broken=True), "--rate=40")
            self.pause(GUARD_MAX_S)
            for name in names:
                self.loads[name].mark("guarded")
            self.pause(max(self.outage_s - (time.monotonic() - stopped), 1))
            for name in names:
                self.loads[name].mark("back")
            return [self.loads[name].segment("guarded") for name in names]
        finally:
            self.target.continue_api()

    def expect_leader_since(self, epoch):
        """Waits for the API server, which first answers the requests that piled up, and then for a leader."""
        back = time.monotonic()
        answers = super().wait(lambda: self.objects.read_at > back, READY_MAX_S)
        self.expect("the API server answers again", answers, f"{time.monotonic() - back:.1f} s after it was continued")
        met = self.wait(lambda: self.has_nodes_since(epoch), READY_MAX_S)
        self.expect("a controller leads and controls the nodes", met,
                    f"epoch {self.objects.epoch('main')}, {time.monotonic() - back:.1f} s after it was continued")

    def uninstall(self):
        self.mark("uninstall", {STABLE})
        began = time.monotonic()
        self.target.helm("uninstall", "longshore", "--namespace", NAMESPACE, "--wait", f"--timeout={UNINSTALL_MAX_S}s")
        gone = self.wait(lambda: not self.objects.controllers(leaving=True), UNINSTALL_MAX_S)
        took = time.monotonic() - began
        self.expect(f"helm uninstalls the controllers within {UNINSTALL_MAX_S} s", gone and took <= UNINSTALL_MAX_S, f"{took:.1f} s")
        self.expect_no_failure("helm uninstall, with nodes still serving", "uninstall")

    def check_totals(self):
        final = self.loads["digits"].stop()
        segments = self.loads["digits"].segments()
        self.result |= {"requests": final["sent"], "answered": final["answered"], "failed": checks.failures_of(final),
                        "retried": final["retried"],
                        "wrong_version": checks.count_wrong_versions(segments, lambda name: self.allowed.get(name, {1, STABLE}))}
        for name in ("failed", "wrong_version"):
            self.expect(f"{name}: 0", final["answered"] > 0 and self.result[name] == 0, self.result[name])
        self.target.kubectl("delete", "models,servingfleets", "--all", "--namespace", NAMESPACE)
        gone = self.wait(lambda: not self.objects.nodes_of("main") and not self.objects.named("Deployment", "longshore-main"), 90)
        self.expect("deleting a fleet removes its pods without a controller", gone,
                    f"{len(self.objects.nodes_of('main'))} pods")
