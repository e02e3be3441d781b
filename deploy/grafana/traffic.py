"""What is asked, how it ends, and how it is split over versions and nodes."""

from grafana import ORANGE, RED, dashboard, lines, number, query, variable

CHOSEN = 'fleet=~"$fleet",model=~"$model"'
THIRD = (8, 8)
OF_FLEET = 'fleet=~"$fleet"'
# What the server owes: the client asked well and got no answer.
FAULTS = "UNKNOWN|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|INTERNAL|UNAVAILABLE|DATA_LOSS|ABORTED"
FAULTY = f',code=~"{FAULTS}"'


def rate(metric, chosen=CHOSEN):
    return f"rate({metric}{{{chosen}}}[$__rate_interval])"


def requests(more=""):
    """Of clients: what a peer was asked for was asked for by a client elsewhere."""
    return rate("longshore_requests_total", f'{CHOSEN},protocol!="peer"{more}')


ANSWERED = requests(',code="OK"')
NAMED = requests(',model!=""')


def share_failed(by):
    return f"1 - sum{by} ({ANSWERED}) / sum{by} ({requests()})"


DASHBOARD = dashboard(
    "longshore-traffic", "Traffic", "Requests by model, outcome, version and node, and how well the split is kept.",
    [("All", [
        number("Requests", "Requests of clients, per second.", f"sum({requests()})", "reqps"),
        number("Failed", "The share that did not end with OK, whoever is to blame.", share_failed(""), "percentunit",
               thresholds=[(0.01, ORANGE), (0.05, RED)]),
        number("Models asked for", "Models that had a request lately.",
               f'count(sum by (fleet, model) ({NAMED}) > 0)'),
        number("Nodes that answer", "Nodes that had a request lately.", f"count(sum by (node) ({requests()}) > 0)"),
        number("Handed to a peer", "The share of requests that another node ran: versions that a node does not hold, and spilling.",
               f"sum({rate('longshore_forwarded_total')}) / sum({requests()})", "percentunit"),
        number("Non-finite answers", "Answers of candidates with NaN or Inf where stable's is finite, ever.",
               f"sum(longshore_nonfinite_total{{{CHOSEN}}})", thresholds=[(1, RED)]),
    ]), ("Requests and their ends", [
        lines("Requests by model", "Requests per second. An empty model: the name that was asked for does not exist.",
              [query(f"sum by (fleet, model) ({requests()})", "{{model}} of {{fleet}}")], "reqps", stack=True),
        lines("Requests by outcome",
              "INVALID_ARGUMENT and NOT_FOUND are the clients'; UNAVAILABLE, DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED are overload or"
              " nodes that go; INTERNAL is a fault of ours.",
              [query(f"sum by (code) ({requests()})", "{{code}}")], "reqps"),
        lines("Share that failed, by model", "All codes but OK. Dashed: what spec.slo.errorRate of the Model allows.",
              [query(share_failed(" by (fleet, model)"), "{{model}} of {{fleet}}"),
               query(f"longshore_model_slo_error_ratio{{{CHOSEN}}}", "{{model}} allows")], "percentunit", dashed=["allows"], size=THIRD),
        lines("Failures that are ours", f"Codes {FAULTS.replace('|', ', ')}: what the alert LongshoreErrorBudgetBurns counts.",
              [query(f'sum by (model, code) ({requests(FAULTY)})', "{{model}}: {{code}}")], "reqps", size=THIRD),
        lines("Requests by protocol", "grpc and rest: of clients. peer: what nodes asked each other for, which a client asked one of them for.",
              [query(f"sum by (protocol) ({rate('longshore_requests_total')})", "{{protocol}}")], "reqps", stack=True, size=THIRD),
    ]), ("Split", [
        lines("Split over versions, and what is wanted",
              "The share of good answers by version. Dashed: the weight that the rollout has decided. They meet within seconds.",
              [query(f"sum by (fleet, model, version) ({ANSWERED})"
                     f" / on (fleet, model) group_left sum by (fleet, model) ({ANSWERED})", "{{model}} version {{version}}"),
               query(f"longshore_model_weight_ratio{{{CHOSEN}}}", "{{model}} version {{version}} wanted")], "percentunit", maximum=1,
              dashed=["wanted"]),
        lines("Requests by version", "Good answers per second.",
              [query(f"sum by (model, version) ({ANSWERED})", "{{model}} version {{version}}")], "reqps", stack=True),
        lines("Requests by node", "By the node that the client reached. Uneven: few connections, or clients that never reconnect.",
              [query(f"sum by (node) ({requests()})", "{{node}}")], "reqps", stack=True, size=THIRD),
        lines("Handed to peers", "Forwarded: the version is held elsewhere. Spilled: of them, only to share load.",
              [query(f"sum by (node) ({rate('longshore_forwarded_total')})", "{{node}}: forwarded"),
               query(f"sum by (node) ({rate('longshore_spilled_total', OF_FLEET)})", "{{node}}: spilled")], "reqps", size=THIRD),
        lines("Answers with NaN or Inf", "Of candidates, where stable's answer is finite, since the nodes started. The first one takes the"
              " weight away.",
              [query(f"sum by (model, version) (longshore_nonfinite_total{{{CHOSEN}}})", "{{model}} version {{version}}")], size=THIRD),
    ])],
    [variable("fleet", "Fleet", "longshore_run_slots", "fleet"),
     variable("model", "Model", f'longshore_requests_total{{{OF_FLEET},model!=""}}', "model")])
