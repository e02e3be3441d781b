"""Nodes: how many, how busy, what they hold."""

from grafana import BLUE, GRAY, GREEN, ORANGE, RED, YELLOW, dashboard, lines, number, query, rows, states, variable

CHOSEN = 'fleet=~"$fleet"'
NODES = f"on (job, instance) longshore_run_slots{{{CHOSEN}}}"
BUSY = f"rate(longshore_run_busy_seconds_total{{{CHOSEN}}}[$__rate_interval])"
SLOTS = f"longshore_run_slots{{{CHOSEN}}}"
REASONS = {"Steady": GREEN, "Idle": BLUE, "Utilization": YELLOW, "QueueDelay": YELLOW, "Latency": YELLOW, "Bounds": BLUE,
           "AtMaximum": RED, "NoEvidence": ORANGE}


def reasons():
    each = [f'longshore_fleet_autoscale_reason{{{CHOSEN},reason="{reason}"}} * {place}' for place, reason in enumerate(REASONS, 1)]
    return f"sum by (fleet) ({' or '.join(each)})"


DASHBOARD = dashboard(
    "longshore-fleet", "Fleet and engine",
    "Nodes that are wanted, there and ready; how busy their engines are, and what they hold.",
    [("Now", [
        number("Nodes ready", "Nodes that can answer for every model of their fleet.", f"sum(longshore_fleet_replicas_ready{{{CHOSEN}}})"),
        number("Nodes missing", "Nodes that are wanted and not ready.",
               f"sum(longshore_fleet_replicas_wanted{{{CHOSEN}}}) - sum(longshore_fleet_replicas_ready{{{CHOSEN}}})",
               thresholds=[(1, ORANGE)]),
        number("Busy", "The share of the run slots that are busy.", f"sum({BUSY}) / sum({SLOTS})", "percentunit",
               thresholds=[(0.7, ORANGE), (0.95, RED)]),
        number("Runs under way", "On all nodes, on average.", f"sum(avg_over_time(longshore_running{{{CHOSEN}}}[$__rate_interval]))"),
        number("Requests waiting", "Now, on all nodes.", f"sum(longshore_queued{{{CHOSEN}}})"),
        number("Memory of versions", "What loaded versions hold, on all nodes.", f"sum(longshore_version_memory_bytes{{{CHOSEN}}})", "bytes"),
    ]), ("Nodes", [
        lines("Nodes of the fleets", "Wanted, there and ready should be one line; it lies between min and max.",
              [query(f"longshore_fleet_replicas_ready{{{CHOSEN}}}", "{{fleet}} ready"), query(f"longshore_fleet_replicas{{{CHOSEN}}}", "{{fleet}} there"),
               query(f"longshore_fleet_replicas_wanted{{{CHOSEN}}}", "{{fleet}} wanted"),
               query(f"longshore_fleet_replicas_min{{{CHOSEN}}}", "{{fleet}} min"), query(f"longshore_fleet_replicas_max{{{CHOSEN}}}", "{{fleet}} max")],
              dashed=["m(in|ax)$"]),
        lines("Nodes by state", "Restarting: the process ended by itself and is started again after a pause.",
              [query(f"sum by (state) (longshore_fleet_nodes{{{CHOSEN}}})", "{{state}}")], stack=True),
        states("Nodes that Prometheus reaches", "A gap: the node was not there. Down: it is there and does not answer.",
               [query(f"up{{{CHOSEN},node!=\"\"}}", "{{node}}")], {0: ("Down", RED), 1: ("Up", GREEN)}),
        lines("Age of the nodes", "Since the process started. It falls to 0 when a node was restarted; no rollout restarts one.",
              [query(f"time() - process_start_time_seconds and {NODES}", "{{node}}")], "s"),
        rows("Programs", "What runs where; several versions side by side while an upgrade is under way.",
             [query(f"count by (fleet, version) (longshore_build_info and {NODES})", table=True)],
             {"fleet": "Fleet", "version": "longshore-node", "Value": "Nodes"}, size=(12, 6)),
        rows("What is wrong with fleets", "Conditions that should be otherwise.",
             [query(f'longshore_fleet_condition{{{CHOSEN},type=~"Ready|Listening|Scaled|ManifestAccepted|ModelsReadable"}} == 0'
                    f' or longshore_fleet_condition{{{CHOSEN},type="Stalled"}} == 1', table=True)],
             {"namespace": "Namespace", "name": "Fleet", "type": "Condition", "reason": "Why"}, size=(12, 6)),
    ]), ("Engine", [
        lines("Busy, by fleet", "The share of the run slots that are busy: what autoscaling.utilization is compared with.",
              [query(f"sum by (fleet) ({BUSY}) / sum by (fleet) ({SLOTS})", "{{fleet}}")], "percentunit"),
        lines("Busy, by node", "Uneven load shows here first.",
              [query(f"sum by (node) ({BUSY}) / sum by (node) ({SLOTS})", "{{node}}")], "percentunit"),
        lines("Running and waiting", "Runs under way and requests that wait for one. Dashed: the runs that are admitted at once.",
              [query(f"sum by (fleet) (longshore_running{{{CHOSEN}}})", "{{fleet}} running"),
               query(f"sum by (fleet) (longshore_queued{{{CHOSEN}}})", "{{fleet}} waiting"), query(f"sum by (fleet) ({SLOTS})", "{{fleet}} slots")],
              dashed=["slots$"]),
        lines("Runs", "Requests that ran together had one.",
              [query(f"sum by (fleet) (rate(:tensorflow:core:graph_runs{{{CHOSEN}}}[$__rate_interval]))", "{{fleet}}")], "ops"),
    ]), ("Autoscaling", [
        lines("Waiting for a run, average", "What autoscaling.queueDelay is compared with.",
              [query(f"sum by (fleet) (rate(longshore_queue_seconds_sum{{{CHOSEN}}}[$__rate_interval]))"
                     f" / sum by (fleet) (rate(longshore_queue_seconds_count{{{CHOSEN}}}[$__rate_interval]))", "{{fleet}}")], "s"),
        lines("Pressure", "The signal behind the last decision, of its target: above 1 it asks for more nodes.",
              [query(f"longshore_fleet_autoscale_pressure_ratio{{{CHOSEN}}}", "{{fleet}}")], up_to=1.1, thresholds=[(1, ORANGE)]),
        states("Why there are so many nodes", "AtMaximum: more would be wanted. NoEvidence: metrics are missing, so nothing is taken away.",
               [query(reasons(), "{{fleet}}")], {0: ("None", GRAY)} | {place: (reason, color)
                                                for place, (reason, color) in enumerate(REASONS.items(), 1)}, size=(24, 5)),
    ]), ("What nodes take", [
        lines("Memory of nodes", "What the process holds.", [query(f"process_resident_memory_bytes and {NODES}", "{{node}}")], "bytes"),
        lines("Memory of versions, by version", "What each loaded version holds, on all nodes. Two versions of one model: a rollout.",
              [query(f"sum by (model, version) (longshore_version_memory_bytes{{{CHOSEN}}})", "{{model}} version {{version}}")], "bytes", stack=True),
        lines("Processor", "Processors that are busy with it.",
              [query(f"rate(process_cpu_seconds_total[$__rate_interval]) and {NODES}", "{{node}}")], "cores"),
        lines("Files and sockets", "Of as many as may be open.",
              [query(f"process_open_fds / process_max_fds and {NODES}", "{{node}}")], "percentunit"),
    ])],
    [variable("fleet", "Fleet", "longshore_fleet_replicas", "fleet")])
