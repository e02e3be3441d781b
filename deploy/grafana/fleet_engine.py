"""Nodes: their number, load and resources."""

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
    "Wanted, existing and ready nodes; the load of their engines, and their resources.",
    [("Now", [
        number("Nodes ready", "Nodes that can answer for every model of their fleet.", f"sum(longshore_fleet_replicas_ready{{{CHOSEN}}})"),
        number("Nodes missing", "Nodes that are wanted but not ready.",
               f"sum(longshore_fleet_replicas_wanted{{{CHOSEN}}}) - sum(longshore_fleet_replicas_ready{{{CHOSEN}}})",
               thresholds=[(1, ORANGE)]),
        number("Busy", "The share of the run slots that are busy.", f"sum({BUSY}) / sum({SLOTS})", "percentunit",
               thresholds=[(0.7, ORANGE), (0.95, RED)]),
        number("Runs in progress", "On all nodes, on average.", f"sum(avg_over_time(longshore_running{{{CHOSEN}}}[$__rate_interval]))"),
        number("Requests waiting", "Requests that wait for a run now, on all nodes.", f"sum(longshore_queued{{{CHOSEN}}})"),
        number("Memory of versions", "Memory of loaded versions, on all nodes.", f"sum(longshore_version_memory_bytes{{{CHOSEN}}})", "bytes"),
    ]), ("Nodes", [
        lines("Nodes of the fleets", "The lines for wanted, existing and ready nodes should coincide, between min and max.",
              [query(f"longshore_fleet_replicas_ready{{{CHOSEN}}}", "{{fleet}} ready"), query(f"longshore_fleet_replicas{{{CHOSEN}}}", "{{fleet}} existing"),
               query(f"longshore_fleet_replicas_wanted{{{CHOSEN}}}", "{{fleet}} wanted"),
               query(f"longshore_fleet_replicas_min{{{CHOSEN}}}", "{{fleet}} min"), query(f"longshore_fleet_replicas_max{{{CHOSEN}}}", "{{fleet}} max")],
              dashed=["m(in|ax)$"]),
        lines("Nodes by state", "Restarting: the process ended unexpectedly and is restarted after a delay.",
              [query(f"sum by (state) (longshore_fleet_nodes{{{CHOSEN}}})", "{{state}}")], stack=True),
        states("Nodes that Prometheus reaches", "Gap: the node did not exist. Down: it exists and does not answer.",
               [query(f"up{{{CHOSEN},node!=\"\"}}", "{{node}}")], {0: ("Down", RED), 1: ("Up", GREEN)}),
        lines("Age of the nodes", "Time since the process started. It drops to 0 when a node is restarted; rollouts restart no nodes.",
              [query(f"time() - process_start_time_seconds and {NODES}", "{{node}}")], "s"),
        rows("Programs", "Versions of longshore-node by fleet; several during an upgrade.",
             [query(f"count by (fleet, version) (longshore_build_info and {NODES})", table=True)],
             {"fleet": "Fleet", "version": "longshore-node", "Value": "Nodes"}, size=(12, 6)),
        rows("Problems of fleets", "Conditions with a bad status.",
             [query(f'longshore_fleet_condition{{{CHOSEN},type=~"Ready|Listening|Scaled|ManifestAccepted|ModelsReadable"}} == 0'
                    f' or longshore_fleet_condition{{{CHOSEN},type="Stalled"}} == 1', table=True)],
             {"namespace": "Namespace", "name": "Fleet", "type": "Condition", "reason": "Why"}, size=(12, 6)),
    ]), ("Engine", [
        lines("Busy, by fleet", "The share of the run slots that are busy. autoscaling.utilization is the target for it.",
              [query(f"sum by (fleet) ({BUSY}) / sum by (fleet) ({SLOTS})", "{{fleet}}")], "percentunit"),
        lines("Busy, by node", "The share of busy run slots of each node. Uneven load shows here first.",
              [query(f"sum by (node) ({BUSY}) / sum by (node) ({SLOTS})", "{{node}}")], "percentunit"),
        lines("Running and waiting", "Runs in progress and requests that wait for a run. Dashed: maximum number of concurrent runs.",
              [query(f"sum by (fleet) (longshore_running{{{CHOSEN}}})", "{{fleet}} running"),
               query(f"sum by (fleet) (longshore_queued{{{CHOSEN}}})", "{{fleet}} waiting"), query(f"sum by (fleet) ({SLOTS})", "{{fleet}} slots")],
              dashed=["slots$"]),
        lines("Runs", "Runs per second; requests in one batch share one run.",
              [query(f"sum by (fleet) (rate(:tensorflow:core:graph_runs{{{CHOSEN}}}[$__rate_interval]))", "{{fleet}}")], "ops"),
    ]), ("Autoscaling", [
        lines("Waiting for a run, average", "Average queue delay. autoscaling.queueDelay is the target for it.",
              [query(f"sum by (fleet) (rate(longshore_queue_seconds_sum{{{CHOSEN}}}[$__rate_interval]))"
                     f" / sum by (fleet) (rate(longshore_queue_seconds_count{{{CHOSEN}}}[$__rate_interval]))", "{{fleet}}")], "s"),
        lines("Pressure", "The signal of the last decision relative to its target: above 1 it asks for more nodes.",
              [query(f"longshore_fleet_autoscale_pressure_ratio{{{CHOSEN}}}", "{{fleet}}")], up_to=1.1, thresholds=[(1, ORANGE)]),
        states("Reason for the number of nodes", "AtMaximum: more nodes are wanted than replicas.max. NoEvidence: metrics are missing, so no node is removed.",
               [query(reasons(), "{{fleet}}")], {0: ("None", GRAY)} | {place: (reason, color)
                                                for place, (reason, color) in enumerate(REASONS.items(), 1)}, size=(24, 5)),
    ]), ("Resources of nodes", [
        lines("Memory of nodes", "Resident memory of the process.", [query(f"process_resident_memory_bytes and {NODES}", "{{node}}")], "bytes"),
        lines("Memory of versions, by version", "Memory of each loaded version, on all nodes. Two versions of one model mean a rollout.",
              [query(f"sum by (model, version) (longshore_version_memory_bytes{{{CHOSEN}}})", "{{model}} version {{version}}")], "bytes", stack=True),
        lines("Processor", "Processors used by each node.",
              [query(f"rate(process_cpu_seconds_total[$__rate_interval]) and {NODES}", "{{node}}")], "cores"),
        lines("Files and sockets", "Open files and sockets, as a share of the limit.",
              [query(f"process_open_fds / process_max_fds and {NODES}", "{{node}}")], "percentunit"),
    ])],
    [variable("fleet", "Fleet", "longshore_fleet_replicas", "fleet")])
