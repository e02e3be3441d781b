"""The controller itself: whether somebody leads, how it looks at objects, what it takes."""

from grafana import GREEN, ORANGE, RED, GRAY, bars, dashboard, lines, number, query, states

LOOKS = "rate(longshore_controller_looks_total[$__rate_interval])"
CONTROLLERS = "on (job, instance) longshore_controller_epoch"

DASHBOARD = dashboard(
    "longshore-controller", "Controller",
    "Without a controller nodes serve on with what they have; nothing is swapped, scaled or repaired.",
    [("Now", [
        number("Leading", "Controllers that lead; one for each installation.", "sum(longshore_controller_leading)"),
        number("Epoch", "The term; it rises with each change of the leader.", "max(longshore_controller_epoch)"),
        number("Objects", "Models and ServingFleets.", "sum(longshore_controller_objects)"),
        number("Unreadable objects", "Objects that are there and cannot be read; the log names each.",
               "sum(longshore_controller_unreadable_objects)", thresholds=[(1, RED)]),
        number("Failed looks", "Looks that ended in an error, per second. Each is tried again, ever later.",
               f'sum({LOOKS}) - sum(rate(longshore_controller_looks_total{{result=~"OK|ABORTED"}}[$__rate_interval]))', "ops",
               thresholds=[(0.1, ORANGE)]),
        number("Busy", "The share of the time in which it looks at an object; it looks at one at a time.",
               "sum by (instance) (rate(longshore_controller_look_seconds_sum[$__rate_interval]))", "percentunit",
               thresholds=[(0.5, ORANGE), (0.9, RED)]),
    ]), ("Work", [
        lines("Looks", "Every look compares what is wanted with what is, and does what is missing.",
              [query(f"sum by (kind) ({LOOKS})", "{{kind}}")], "ops", stack=True),
        lines("Looks by result", "ABORTED: somebody else wrote in between; it is looked at again. Others are in the log.",
              [query(f"sum by (result) ({LOOKS})", "{{result}}")], "ops"),
        lines("How long looks take", "p99. Long ones wait for the API server or a disk.",
              [query("histogram_quantile(0.99, sum by (le, kind, instance) (rate(longshore_controller_look_seconds_bucket[$__rate_interval])))",
                     "{{kind}}, by {{instance}}")], "s"),
        bars("Objects by kind", "What there is.", "sum by (kind) (longshore_controller_objects)", "{{kind}}"),
    ]), ("Leadership and the API server", [
        states("Who leads", "One at a time for each installation. Nobody: nodes serve on, and nothing changes.",
               [query("longshore_controller_leading", "{{instance}}")], {0: ("Stands by", GRAY), 1: ("Leads", GREEN)}),
        lines("Terms", "By controller; 0 while another one leads.", [query("longshore_controller_epoch", "{{instance}}")]),
        lines("Silence of the API server", "In a cluster: since when it said nothing of some kind of our objects. It does once a minute; after its start it may need ten.",
              [query("longshore_controller_staleness_seconds", "{{instance}}")], "s", up_to=900, thresholds=[(900, RED)]),
        lines("Lists", "In a cluster: lists begun since the start. A list for each kind is enough; more are lost watches.",
              [query("longshore_controller_lists", "{{instance}}")]),
    ]), ("Alerts, and what the controller takes", [
        lines("Alerts", "Of this project, pending and firing; docs/monitoring.md has a section for each.",
              [query('sum by (alertname, alertstate) (ALERTS{alertname=~"Longshore.+"})', "{{alertname}} {{alertstate}}")]),
        lines("Memory", "What the process holds.", [query(f"process_resident_memory_bytes and {CONTROLLERS}", "{{instance}}")], "bytes"),
        lines("Processor", "Processors that are busy with it.",
              [query(f"rate(process_cpu_seconds_total[$__rate_interval]) and {CONTROLLERS}", "{{instance}}")], "cores"),
        lines("Files and sockets", "Of as many as may be open; each node takes one.",
              [query(f"process_open_fds / process_max_fds and {CONTROLLERS}", "{{instance}}")], "percentunit"),
    ])])
