"""Requests, their results, and the split over versions and nodes."""

from grafana import ORANGE, RED, dashboard, lines, number, query, variable

CHOSEN = 'fleet=~"$fleet",model=~"$model"'
THIRD = (8, 8)
OF_FLEET = 'fleet=~"$fleet"'
# Failures of the server: the request was valid and got no answer.
FAULTS = "UNKNOWN|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|INTERNAL|UNAVAILABLE|DATA_LOSS|ABORTED"
FAULTY = f',code=~"{FAULTS}"'


def rate(metric, chosen=CHOSEN):
    return f"rate({metric}{{{chosen}}}[$__rate_interval])"


def requests(more=""):
    """Requests of clients. Requests from peers are left out: another node has counted them."""
    return rate("longshore_requests_total", f'{CHOSEN},protocol!="peer"{more}')


ANSWERED = requests(',code="OK"')
NAMED = requests(',model!=""')


def share_failed(by):
    return f"1 - sum{by} ({ANSWERED}) / sum{by} ({requests()})"


DASHBOARD = dashboard(
    "longshore-traffic", "Traffic", "Requests by model, result, version and node, and the split compared with the weights.",
    [("All", [
        number("Requests", "Requests of clients, per second.", f"sum({requests()})", "reqps"),
        number("Failed", "The share of requests that did not end with OK, including errors of clients.", share_failed(""), "percentunit",
               thresholds=[(0.01, ORANGE), (0.05, RED)]),
        number("Models with requests", "Models that had a request lately.",
               f'count(sum by (fleet, model) ({NAMED}) > 0)'),
        number("Nodes with requests", "Nodes that had a request lately.", f"count(sum by (node) ({requests()}) > 0)"),
        number("Forwarded to a peer", "The share of requests that another node ran, because of versions that a node does not hold, and of spilling.",
               f"sum({rate('longshore_forwarded_total')}) / sum({requests()})", "percentunit"),
        number("Non-finite answers", "Answers of candidates with NaN or Inf where stable's is finite, since the nodes started.",
               f"sum(longshore_nonfinite_total{{{CHOSEN}}})", thresholds=[(1, RED)]),
    ]), ("Requests and their results", [
        lines("Requests by model", "Requests per second. Requests for unknown models have an empty name.",
              [query(f"sum by (fleet, model) ({requests()})", "{{model}} of {{fleet}}")], "reqps", stack=True),
        lines("Requests by result",
              "INVALID_ARGUMENT and NOT_FOUND are errors of clients; UNAVAILABLE, DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED mean overload or"
              " draining nodes; INTERNAL is a fault of the version or the node.",
              [query(f"sum by (code) ({requests()})", "{{code}}")], "reqps"),
        lines("Share that failed, by model", "All codes except OK. Dashed: spec.slo.errorRate of the Model.",
              [query(share_failed(" by (fleet, model)"), "{{model}} of {{fleet}}"),
               query(f"longshore_model_slo_error_ratio{{{CHOSEN}}}", "{{model}} allows")], "percentunit", dashed=["allows"], size=THIRD),
        lines("Failures of the server", f"Codes {FAULTS.replace('|', ', ')}: what the alert LongshoreErrorBudgetBurns counts.",
              [query(f'sum by (model, code) ({requests(FAULTY)})', "{{model}}: {{code}}")], "reqps", size=THIRD),
        lines("Requests by protocol", "grpc and rest: requests of clients. peer: requests that nodes forwarded to each other.",
              [query(f"sum by (protocol) ({rate('longshore_requests_total')})", "{{protocol}}")], "reqps", stack=True, size=THIRD),
    ]), ("Split", [
        lines("Split over versions, and weights",
              "The share of successful answers by version. Dashed: the weight of the rollout. They agree within seconds.",
              [query(f"sum by (fleet, model, version) ({ANSWERED})"
                     f" / on (fleet, model) group_left sum by (fleet, model) ({ANSWERED})", "{{model}} version {{version}}"),
               query(f"longshore_model_weight_ratio{{{CHOSEN}}}", "{{model}} version {{version}} weight")], "percentunit", maximum=1,
              dashed=["weight"]),
        lines("Requests by version", "Successful answers per second.",
              [query(f"sum by (model, version) ({ANSWERED})", "{{model}} version {{version}}")], "reqps", stack=True),
        lines("Requests by node", "By the node that the client is connected to. Uneven with few connections, or with clients that never reconnect.",
              [query(f"sum by (node) ({requests()})", "{{node}}")], "reqps", stack=True, size=THIRD),
        lines("Forwarded to peers", "Forwarded: run by another node. Spilled: the part that was forwarded only to share load.",
              [query(f"sum by (node) ({rate('longshore_forwarded_total')})", "{{node}}: forwarded"),
               query(f"sum by (node) ({rate('longshore_spilled_total', OF_FLEET)})", "{{node}}: spilled")], "reqps", size=THIRD),
        lines("Answers with NaN or Inf", "Answers of candidates where stable's answer is finite, since the nodes started. The first one sets the"
              " weight to 0.",
              [query(f"sum by (model, version) (longshore_nonfinite_total{{{CHOSEN}}})", "{{model}} version {{version}}")], size=THIRD),
    ])],
    [variable("fleet", "Fleet", "longshore_run_slots", "fleet"),
     variable("model", "Model", f'longshore_requests_total{{{OF_FLEET},model!=""}}', "model")])
