"""How long clients wait, and for what."""

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
    "longshore-latency", "Latency", "How long answers take, in their parts: waiting, running, the rest.",
    [("What clients feel", [
        number("p50", "Half of the answers took no longer.", quantile(0.5, "longshore_request_seconds"), "s"),
        number("p99", "Of a hundred answers one took longer.", quantile(0.99, "longshore_request_seconds"), "s"),
        number("p99 of waiting", "How long requests waited for their run, in the worst of a hundred.",
               quantile(0.99, "longshore_queue_seconds"), "s"),
        number("p99 of running", "How long runs took, in the worst of a hundred.", quantile(0.99, "longshore_run_seconds"), "s"),
        number("Rows of a batch", "Rows of the batches that ran, on average; of Models that batch.",
               "sum(rate(:tensorflow:serving:batching_session:processed_batch_size_sum{fleet=~\"$fleet\"}[$__rate_interval]))"
               " / sum(rate(:tensorflow:serving:batching_session:processed_batch_size_count{fleet=~\"$fleet\"}[$__rate_interval]))"),
        number("Requests waiting", "Requests that wait for a run now.", 'sum(longshore_queued{fleet=~"$fleet"})'),
        lines("Latency", "From a request's arrival to its answer, of those that were answered well. One that a peer ran counts at both nodes.",
              quantiles("longshore_request_seconds"), "s"),
        lines("p99 by model, and what the Model wants",
              "Dashed: spec.slo.latency of the Model, when it has one. Above it users wait longer than was promised.",
              [query(quantile(0.99, "longshore_request_seconds", ", fleet, model"), "{{model}} of {{fleet}}"),
               query(f"longshore_model_slo_latency_seconds{{{CHOSEN}}}", "{{model}} wants p{{quantile}}")], "s",
              dashed=["wants"]),
        heat("Latency of all answers", "How many answers took how long: two bands are two kinds of requests, or of nodes.",
             f"sum by (le) (increase(longshore_request_seconds_bucket{{{CHOSEN}}}[$__rate_interval]))"),
        lines("p99 by version", "Two versions side by side while a rollout is under way.",
              [query(quantile(0.99, "longshore_request_seconds", ", model, version"), "{{model}} version {{version}}")], "s"),
    ]), ("Where the time goes", [
        lines("Parts of an answer",
              "Averages. An answer's time is waiting, running, and the rest: reading, routing, writing and the way to a peer.",
              [query(mean("longshore_request_seconds"), "answer: {{model}}"), query(mean("longshore_queue_seconds"), "waiting: {{model}}"),
               query(mean("longshore_run_seconds"), "running: {{model}}")], "s"),
        lines("Waiting for a run", "From the queue to the run. It rises before users feel anything else: scale out, or batch more.",
              quantiles("longshore_queue_seconds"), "s"),
        lines("Waiting for a batch to fill", "The part of waiting that batching.maxDelay bounds; only requests that were batched.",
              [query(quantile(0.99, "longshore_batch_fill_seconds", ", model"), "{{model}}, p99")], "s"),
        lines("Running, by version", "The run alone. When it rises without traffic, the machine is shared or the version is slower.",
              [query(quantile(0.5, "longshore_run_seconds", ", model, version"), "{{model}} version {{version}}, p50"),
               query(quantile(0.99, "longshore_run_seconds", ", model, version"), "{{model}} version {{version}}, p99")], "s"),
        lines("p99 by node", "One node that is slower than the others has a bad machine or too much to do.",
              [query(quantile(0.99, "longshore_request_seconds", ", node"), "{{node}}")], "s"),
        lines("Rows of batches", "Before padding, and as they ran. Padding is work for nothing: see batching.allowedBatchSizes.",
              [query(f"sum by (fleet) (rate(:tensorflow:serving:batching_session:{which}_batch_size_sum{{fleet=~\"$fleet\"}}[$__rate_interval]))"
                     f" / sum by (fleet) (rate(:tensorflow:serving:batching_session:{which}_batch_size_count{{fleet=~\"$fleet\"}}[$__rate_interval]))",
                     f"{{{{fleet}}}}, {words}") for which, words in (("input", "before padding"), ("processed", "as they ran"))]),
    ])],
    [variable("fleet", "Fleet", "longshore_run_slots", "fleet"),
     variable("model", "Model", 'longshore_requests_total{fleet=~"$fleet",model!=""}', "model")])
