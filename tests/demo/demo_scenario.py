"""The stages of the demo, in order. Each makes a change, waits for its effect, and records the expected and observed result."""

import os
import shutil
import signal
import time
import urllib.request

import checks
import cluster
import decisions
import images
import load
import programs
import trials

HOLD_S = 10
MEASURE_S = 7.5
SETTLE_S = 0.5            # A weight in the status reaches every node within this time.
STEPS = [5, 25, 50]
HALVES_WEIGHT = 30
DIGITS_RATE, KEYS_RATE, KEYS_RATE_AT_THE_END = 350, 600, 1500
QUIET_RATE, BUSY_RATE, CALM_RATE = 60, 190, 20
NAN_RATE = 200


class DemoScenario(trials.Trials):
    """One run of the demo, with its programs and loads."""

    def __init__(self, folder, bin_folder, prometheus):
        super().__init__(programs.Programs(folder / "logs"))
        self.folder = folder
        self.bin = bin_folder
        self.prometheus = prometheus
        for name in ("logs", "state", "manifests", "models", "prometheus"):
            (folder / name).mkdir()
        self.prometheus_port = programs.free_port()
        self._copy_models()
        self.cluster = cluster.Cluster(folder / "manifests", folder / "models",
                                       f"http://127.0.0.1:{self.prometheus_port}", HOLD_S)
        self.objects = self.cluster  # It also has the objects as they were last read.

    def _copy_models(self):
        source, target = programs.ROOT / "tests/models", self.folder / "models"
        shutil.copytree(source / "digits", target / "digits")
        shutil.copytree(source / "half_plus_two_tf2/1", target / "halves/1")
        shutil.copytree(source / "half_plus_three_tf2/1", target / "halves/2")

    def state(self):
        """The models, fleets and loads, for View."""
        models = [(name, self.cluster.status("Model", name)) for name in cluster.MODELS]
        fleets = [(name, self.cluster.status("ServingFleet", name)) for name in cluster.FLEETS]
        loads = [(name, generator.progress) for name, generator in list(self.loads.items()) if generator.final is None]
        return [pair for pair in models if pair[1]], [pair for pair in fleets if pair[1]], loads

    def run(self):
        stages = [("Programs: Prometheus, a controller and a fleet of two nodes start", self.start),
                  ("v1 serves", self.serve_v1),
                  (f"halves: {HALVES_WEIGHT} % canary, each of {checks.KEYS:,} users sends one request during the next stages",
                   self.canary_halves),
                  ("v2: a better network gets traffic step by step; the controller is killed on the way", self.promote_v2),
                  ("v3: trained on wrong labels, stopped before it gets traffic", self.stop_v3),
                  ("The load on a second fleet triples", self.scale_out),
                  ("v4: passes its golden set, but answers NaN for some inputs", self.roll_back_v4),
                  ("v5: correct answers, but five times slower", self.roll_back_v5),
                  (decisions.INCONCLUSIVE_TITLE, self.pause_without_a_proof),
                  (decisions.UNDO_TITLE, self.undo_a_promotion),
                  (trials.SHADOW_TITLE, self.find_in_shadow),
                  (trials.PREVIEW_TITLE, self.switch_and_undo),
                  ("Each user has sent its request; a person promotes halves", self.promote_halves),
                  ("A node is killed", self.kill_node),
                  ("The load on the second fleet is low again", self.scale_in),
                  ("The totals of all loads", self.check_totals)]
        self.run_stages(stages)

    # -------------------------------------------------------------------------------------------- shared by the stages

    def required_programs(self):
        return "controller", "prometheus"

    def start_load(self, name, fleet, *flags):
        command = [self.bin / "longshore-load", "--json", f"--grpc={self.cluster.address(fleet, 'grpc')}",
                   f"--rest={self.cluster.address(fleet, 'rest')}", "--retries=1", *flags]
        self.loads[name] = load.Load(self.programs, f"load-{name}", command)

    def apply_quiet(self, version):
        self.cluster.apply(decisions.MODEL, cluster.of_digits(decisions.MODEL, decisions.ROLLOUT), version)

    def apply_trial(self, version, rollout):
        self.cluster.apply(trials.MODEL, cluster.of_digits(trials.MODEL, rollout), version)

    def ask(self, headers):
        request = urllib.request.Request(f"http://{self.cluster.address('main', 'rest')}/v1/models/{trials.MODEL}:predict",
                                         data=trials.body().encode(), headers=headers)
        with urllib.request.urlopen(request, timeout=10) as response:
            return int(response.headers["x-longshore-version"])

    def place(self):
        return [f"--manifests={self.folder / 'manifests'}"]

    # -------------------------------------------------------------------------------------------- stages

    def start_controller(self):
        self.programs.start("controller", [self.bin / "longshore-controller", f"--state_dir={self.folder / 'state'}",
                                           f"--manifests={self.folder / 'manifests'}", "--admin_port=0", "--console_port=0",
                                           f"--node_binary={self.bin / 'longshore-node'}"])

    def start(self):
        config = self.folder / "prometheus/prometheus.yml"
        config.write_text("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- job_name: longshore\n"
                          f"  file_sd_configs: [{{files: ['{self.folder}/state/prometheus/nodes.json'], refresh_interval: 1s}}]\n")
        self.programs.start("prometheus", [self.prometheus, f"--config.file={config}",
                                           f"--storage.tsdb.path={self.folder / 'prometheus/data'}",
                                           f"--web.listen-address=127.0.0.1:{self.prometheus_port}", "--log.level=warn"])
        self.start_controller()
        self.cluster.apply("main", cluster.FLEET)
        met = self.wait(lambda: len(self.cluster.ready_nodes("main")) == 2, 30)
        self.expect("a fleet of two nodes is ready", met, f"{len(self.cluster.ready_nodes('main'))} nodes ready")
        self.nodes_at_start = self.cluster.ready_nodes("main")

    def serve_v1(self):
        self.cluster.apply("digits", cluster.DIGITS, 1)
        if not self.wait(lambda: self.cluster.serves("digits") == 1, 40):
            raise programs.DemoError(f"v1 was not served within 40 s: see the logs in {self.folder / 'logs'}")
        self.pause(SETTLE_S)
        self.start_load("digits", "main", *images.load_flags("digits", self.folder, broken=False), f"--rate={DIGITS_RATE}",
                        "--rest_share=0.1", "--keyed_share=0.3", "--keys=5000", f"--moves_file={self.folder / 'moves.csv'}")
        self.mark("v1 serves", {1})
        self.pause(3)
        answered = self.loads["digits"].progress.get("total", {}).get("answered", 0)
        self.expect("v1 serves", answered > DIGITS_RATE, f"{answered} answers")

    def canary_halves(self):
        self.cluster.apply("halves", cluster.HALVES, 1)
        self.wait(lambda: self.cluster.serves("halves") == 1, 30)
        self.cluster.apply("halves", cluster.HALVES, 2)
        met = self.wait(lambda: self.cluster.rollout("halves").get("weight") == HALVES_WEIGHT, 30)
        self.expect(f"halves v2 gets {HALVES_WEIGHT} % of the requests", met, self.cluster.rollout("halves").get("phase"))
        self.pause(2 * SETTLE_S)
        self.start_load("users", "main", "--model=halves", f"--rate={KEYS_RATE}", "--keyed_share=1", f"--keys={checks.KEYS}",
                        "--keys_once")

    def promote_v2(self):
        self.cluster.apply("digits", cluster.DIGITS, 2)
        self.mark("v2 loads", {1, 2})
        for weight in STEPS:
            self.watch_step(weight)
            if weight == 25:
                self.restart_controller()
        met = self.wait(lambda: self.cluster.serves("digits") == 2 and self.is_over(2, "Completed"), 60)
        self.expect("v2 is promoted on evidence, 5 -> 25 -> 50 -> 100 %", met and self.steps_seen(2) == STEPS, self.verdict())
        self.pause(1)
        self.mark("v2 serves", {2})

    def watch_step(self, weight):
        def is_at_weight():
            rollout = self.cluster.rollout("digits")
            return rollout.get("candidate") == 2 and rollout.get("phase") == "Step" and rollout.get("weight") == weight
        if not self.wait(is_at_weight, 60):
            return self.expect(f"v2 reaches {weight} %", False, self.verdict())
        self.pause(SETTLE_S)
        self.mark(f"v2 at {weight}", {1, 2})
        self.pause(MEASURE_S)
        self.mark(f"v2 after {weight}", {1, 2})
        return None

    def steps_seen(self, candidate):
        weights = [rollout["weight"] for _, rollout in self.cluster.timeline
                   if rollout["candidate"] == candidate and rollout["phase"] == "Step" and rollout["weight"] > 0]
        return sorted(set(weights))

    def restart_controller(self):
        before, epoch = self.cluster.ready_nodes("main"), self.cluster.epoch("main")
        self.programs.kill("controller")
        self.view.note("controller: killed by SIGKILL; the nodes keep serving")
        time.sleep(2)
        self.start_controller()
        # The status of the killed controller has the same nodes, but a lower epoch.
        met = self.wait(lambda: self.cluster.epoch("main") > epoch and self.cluster.ready_nodes("main") == before, 20)
        self.expect("a restarted controller continues with its nodes and its rollout",
                    met and self.cluster.rollout("digits")["candidate"] == 2,
                    f"{len(before)} nodes, step at {self.cluster.rollout('digits').get('weight'):g} %")

    def stop_v3(self):
        self.mark("v3", {2})
        self.cluster.apply("digits", cluster.DIGITS, 3)
        self.wait(lambda: self.cluster.failure("digits", 3), 60)
        self.pause(2)
        self.mark("after v3", {2})
        failure = self.cluster.failure("digits", 3) or {}
        segment = self.loads["digits"].segment("v3")
        users = checks.answers(segment, 3)
        self.expect("v3 is stopped by the golden set before any user gets its answers",
                    failure.get("reason") == "GoldenSet" and users == 0 and segment["answered"] > 0,
                    f"{users} answers to users; {failure.get('message', 'it did not fail')}")

    def scale_out(self):
        self.cluster.apply("waiting", cluster.WAITING_FLEET)
        self.cluster.apply("busy", cluster.BUSY)
        ready = self.wait(lambda: self.cluster.serves("busy") == 1 and len(self.cluster.ready_nodes("waiting")) == 2, 40)
        if not ready:
            return self.expect("a second fleet of two nodes is ready", False,
                               self.cluster.status("ServingFleet", "waiting").get("conditions"))
        self.pause(SETTLE_S)
        first = set(self.cluster.ready_nodes("waiting"))
        self.start_load("busy", "waiting", "--model=busy", f"--rate={QUIET_RATE}", "--connections=24")
        self.pause(5)
        self.loads["busy"].set_rate(BUSY_RATE)
        met = self.wait(lambda: len(self.cluster.ready_nodes("waiting")) >= 3, 60)
        self.loads["busy"].mark("new node")
        new = set(self.cluster.ready_nodes("waiting")) - first
        self.pause(10)
        self.loads["busy"].mark("grown")
        self.result["scaled_out_to"] = len(self.cluster.ready_nodes("waiting"))
        scale = self.cluster.status("ServingFleet", "waiting")["autoscale"]
        self.expect("the fleet is scaled out to three nodes or more", met and self.result["scaled_out_to"] >= 3,
                    f"{self.result['scaled_out_to']} nodes; {scale['reason']}: {scale['message']}")
        self.result["new_node_share"] = self.share_of_first(new)
        self.loads["busy"].set_rate(CALM_RATE)
        return None

    def share_of_first(self, new):
        """The first new node's share of the answers, in percent, in the ten seconds after it became ready."""
        return checks.share_of_node(self.loads["busy"].segment("new node"), min(new)) if new else None

    def roll_back_v4(self):
        self.mark("v4", {2, 4})
        self.cluster.apply("digits", cluster.DIGITS, 4)
        # A rollback can be measured only if users get answers of v4 before the guard detects the first NaN.
        self.wait(lambda: self.is_over(4, "RolledBack") or checks.answers(self.loads["digits"].progress, 4) > 0, 60)
        self.start_load("nan", "main", *images.load_flags("digits", self.folder, broken=True), f"--rate={NAN_RATE}")
        met = self.wait(lambda: self.is_over(4, "RolledBack"), 60)
        self.pause(4)
        self.mark("after v4", {2})
        segments = [self.loads["digits"].segment("v4"), self.loads["nan"].stop()]
        logs = [path.read_text() for path in self.folder.glob("state/nodes/*/log")]
        # The nodes' logs say when it began, because users get the stable version's answer instead of a non-finite one.
        first = checks.first_trip_ms(logs, "digits", 4)
        self.result["rollback_seconds"] = checks.seconds_to_last_answer(first, segments, 4)
        failure = self.cluster.failure("digits", 4) or {}
        bad = sum(segment["versions"].get("4", {}).get("non_finite", 0) for segment in segments)
        users = sum(checks.answers(segment, 4) for segment in segments)
        last = checks.last_answer_ms(segments, 4)
        when = f", the last one {last - first:+d} ms after the first non-finite one at a node" if first and last else ""
        self.expect("v4 is rolled back after its first non-finite answer", met and first is not None and failure.get("reason") == "NonFinite",
                    f"{bad} non-finite of {users} answers to users{when}; {failure.get('message', 'it did not fail')}")

    def roll_back_v5(self):
        self.mark("v5", {2, 5})
        self.cluster.apply("digits", cluster.DIGITS, 5)
        met = self.wait(lambda: self.is_over(5, "RolledBack"), 90)
        self.pause(2)
        self.mark("after v5", {2})
        failure = self.cluster.failure("digits", 5) or {}
        self.expect("v5 is rolled back for its latency", met and str(failure.get("reason")).startswith("Latency"),
                    failure.get("message", self.verdict()))
        self.result["node_restarts"] = checks.count_restarts(self.nodes_at_start, self.cluster.ready_nodes("main"))
        self.expect("no rollout restarts a node", self.result["node_restarts"] == 0, f"{self.result['node_restarts']} restarts")
        if self.loads["users"].final is None:  # The later stages compare no run times, so the users may send faster.
            self.loads["users"].set_rate(KEYS_RATE_AT_THE_END)

    def kill_node(self):
        name, pid = sorted(self.cluster.ready_nodes("main").items())[-1]
        self.mark("node killed", {2})
        os.kill(pid, signal.SIGKILL)
        self.view.note(f"{name}: killed by SIGKILL")
        gone = self.wait(lambda: pid not in self.cluster.ready_nodes("main").values(), 20)
        replaced = self.wait(lambda: len(self.cluster.ready_nodes("main")) == 2, 40)
        self.pause(2)
        self.mark("node replaced", {2})
        segment = self.loads["digits"].segment("node killed")
        self.expect("a killed node is replaced and no request fails",
                    gone and replaced and segment["answered"] > 0 and segment["failed"] == 0, load.describe_failures(segment))

    def scale_in(self):
        met = self.wait(lambda: len(self.cluster.ready_nodes("waiting")) == 2
                        and self.cluster.status("ServingFleet", "waiting")["replicas"] == 2, 60)
        met = met and self.result.get("scaled_out_to", 0) > 2
        scale = self.cluster.status("ServingFleet", "waiting").get("autoscale", {})
        self.expect("the fleet is scaled in when the load is low", met, f"{len(self.cluster.ready_nodes('waiting'))} nodes; "
                    f"{scale.get('reason')}: {scale.get('message')}")

    def promote_halves(self):
        self.wait(lambda: self.loads["users"].final is not None, 120)
        done, printed = self.run_longshore("promote", "halves")
        met = self.wait(lambda: self.cluster.serves("halves") == 2, 30)
        self.expect("`longshore promote halves` promotes v2", done and met, printed)

    # -------------------------------------------------------------------------------------------- totals

    def check_totals(self):
        finals = {name: generator.stop() for name, generator in self.loads.items()}
        moves = checks.parse_moves((self.folder / "moves.csv").read_text())
        segments = self.loads["digits"].segments()
        self.result.update(checks.totals(finals, segments, self.allowed, moves, self.cluster.timeline))
        self.result["split_deviation_pp"] = self.worst_split(segments)
        self.result["keyed_deviation_pp"] = checks.split_deviation_pp(finals["users"], 2, HALVES_WEIGHT, "keyed")
        for what, met, seen in checks.judge(self.result):
            self.expect(what, met, seen)

    def worst_split(self, segments):
        seen = [checks.split_deviation_pp(segments[f"v2 at {weight}"], 2, weight, "unkeyed")
                for weight in STEPS if f"v2 at {weight}" in segments]
        seen = [deviation for deviation in seen if deviation is not None]
        return max(seen) if len(seen) == len(STEPS) else None
