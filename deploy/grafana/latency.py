"""Latency of clients, and its parts."""

from grafana import dashboard, heat, lines, number, query, variable

CHOSEN = 'fleet=~"$fleet",model=~"$model"'


def rate(metric, more=""):
    return f"rate({metric}{{{CHOSEN}{more}}}[$__rate_interval])"


def quantile(share, metric, by=""):
    return f"histogram_quantile({share}, sum by (le{by}) ({rate(metric + '_bucket')}))"


def mean(metric, by="fleet, model"):
    return f"sum by ({by}) ({rate(metric + '_sum')}) / sum by ({by}) ({rate(metric + '_count')})"


def quantiles(metric):
    return [query(quantile(share, metric), f"p{share * 100:g}") for share in (0.5, 0.9, 0.99)]


DASHBOARD = dashboard(
    "longshore-latency", "Latency", "Latency of answers, and its parts: waiting, running, the rest.",
    [("Clients", [
        number("p50", "Half of the answers took at most this time.", quantile(0.5, "longshore_request_seconds"), "s"),
        number("p99", "99 % of the answers took at most this time.", quantile(0.99, "longshore_request_seconds"), "s"),
        number("p99 of waiting", "99 % of the requests waited at most this time for their run.",
               quantile(0.99, "longshore_queue_seconds"), "s"),
        number("p99 of running", "99 % of the runs took at most this time.", quantile(0.99, "longshore_run_seconds"), "s"),
        number("Rows of a batch", "Average number of rows per batch, for Models that use batching.",
               "sum(rate(:tensorflow:serving:batching_session:processed_batch_size_sum{fleet=~\"$fleet\"}[$__rate_interval]))"
               " / sum(rate(:tensorflow:serving:batching_session:processed_batch_size_count{fleet=~\"$fleet\"}[$__rate_interval]))"),
        number("Requests waiting", "Requests that wait for a run now.", 'sum(longshore_queued{fleet=~"$fleet"})'),
        lines("Latency", "From arrival to answer, of successful requests. A request that a peer ran counts at both nodes.",
              quantiles("longshore_request_seconds"), "s"),
        lines("p99 by model, and its objective",
              "Dashed: spec.slo.latency of the Model, if it is set.",
              [query(quantile(0.99, "longshore_request_seconds", ", fleet, model"), "{{model}} of {{fleet}}"),
               query(f"longshore_model_slo_latency_seconds{{{CHOSEN}}}", "{{model}} objective p{{quantile}}")], "s",
              dashed=["objective"]),
        heat("Latency of all answers", "Distribution of the latency: two bands mean two kinds of requests, or of nodes.",
             f"sum by (le) (increase(longshore_request_seconds_bucket{{{CHOSEN}}}[$__rate_interval]))"),
        lines("p99 by version", "During a rollout there are two versions of a model.",
              [query(quantile(0.99, "longshore_request_seconds", ", model, version"), "{{model}} version {{version}}")], "s"),
    ]), ("Where the time goes", [
        lines("Parts of an answer",
              "Averages. The time of an answer consists of waiting, running, and the rest: reading, routing, writing and the hop to a peer.",
              [query(mean("longshore_request_seconds"), "answer: {{model}}"), query(mean("longshore_queue_seconds"), "waiting: {{model}}"),
               query(mean("longshore_run_seconds"), "running: {{model}}")], "s"),
        lines("Waiting for a run", "From entering the queue to the begin of the run. It is the first sign of overload: scale out, or use larger batches.",
              quantiles("longshore_queue_seconds"), "s"),
        lines("Waiting for a batch to fill", "The part of waiting that batching.maxDelay limits; only batched requests.",
              [query(quantile(0.99, "longshore_batch_fill_seconds", ", model"), "{{model}}, p99")], "s"),
        lines("Running, by version", "The run without waiting. If it rises without more traffic, the machine is shared or the version is slower.",
              [query(quantile(0.5, "longshore_run_seconds", ", model, version"), "{{model}} version {{version}}, p50"),
               query(quantile(0.99, "longshore_run_seconds", ", model, version"), "{{model}} version {{version}}, p99")], "s"),
        lines("p99 by node", "A node that is slower than the others has a bad machine or too much load.",
              [query(quantile(0.99, "longshore_request_seconds", ", node"), "{{node}}")], "s"),
        lines("Rows of batches", "Before and after padding. Padding is wasted work: see batching.allowedBatchSizes.",
              [query(f"sum by (fleet) (rate(:tensorflow:serving:batching_session:{which}_batch_size_sum{{fleet=~\"$fleet\"}}[$__rate_interval]))"
                     f" / sum by (fleet) (rate(:tensorflow:serving:batching_session:{which}_batch_size_count{{fleet=~\"$fleet\"}}[$__rate_interval]))",
                     f"{{{{fleet}}}}, {words}") for which, words in (("input", "before padding"), ("processed", "after padding"))]),
    ])],
    [variable("fleet", "Fleet", "longshore_run_slots", "fleet"),
     variable("model", "Model", 'longshore_requests_total{fleet=~"$fleet",model!=""}', "model")])
