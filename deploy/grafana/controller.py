"""The controller: leadership, reconciliations, and resources of the process."""

from grafana import GREEN, ORANGE, RED, GRAY, bars, dashboard, lines, number, query, states

RECONCILES = "rate(longshore_controller_reconciles_total[$__rate_interval])"
CONTROLLERS = "on (job, instance) longshore_controller_epoch"

DASHBOARD = dashboard(
    "longshore-controller", "Controller",
    "Without a controller nodes continue to serve their versions; no version is rolled out, and no fleet is scaled or repaired.",
    [("Now", [
        number("Leading", "Controllers that lead; there should be one for each installation.", "sum(longshore_controller_leading)"),
        number("Epoch", "The epoch of the leader's term; it rises with each change of the leader.", "max(longshore_controller_epoch)"),
        number("Objects", "Models and ServingFleets.", "sum(longshore_controller_objects)"),
        number("Unreadable objects", "Objects that exist but cannot be read; the log names each.",
               "sum(longshore_controller_unreadable_objects)", thresholds=[(1, RED)]),
        number("Failed reconciliations", "Reconciliations that ended in an error, per second. Each is retried with growing delays.",
               f'sum({RECONCILES}) - sum(rate(longshore_controller_reconciles_total{{result=~"OK|ABORTED"}}[$__rate_interval]))', "ops",
               thresholds=[(0.1, ORANGE)]),
        number("Busy", "The share of the time in which the controller reconciles an object; it reconciles one at a time.",
               "sum by (instance) (rate(longshore_controller_reconcile_seconds_sum[$__rate_interval]))", "percentunit",
               thresholds=[(0.5, ORANGE), (0.9, RED)]),
    ]), ("Work", [
        lines("Reconciliations", "A reconciliation compares an object with what exists, and does the next step.",
              [query(f"sum by (kind) ({RECONCILES})", "{{kind}}")], "ops", stack=True),
        lines("Reconciliations by result", "ABORTED: the object was changed in between and is reconciled again. Other errors are in the log.",
              [query(f"sum by (result) ({RECONCILES})", "{{result}}")], "ops"),
        lines("Time of reconciliations", "p99. A long reconciliation waits for the API server or a disk.",
              [query("histogram_quantile(0.99, sum by (le, kind, instance) (rate(longshore_controller_reconcile_seconds_bucket[$__rate_interval])))",
                     "{{kind}}, by {{instance}}")], "s"),
        bars("Objects by kind", "Number of existing objects.", "sum by (kind) (longshore_controller_objects)", "{{kind}}"),
    ]), ("Leadership and the API server", [
        states("Leader", "One controller at a time for each installation. Without a leader nodes continue to serve, and nothing changes.",
               [query("longshore_controller_leading", "{{instance}}")], {0: ("Stands by", GRAY), 1: ("Leads", GREEN)}),
        lines("Terms", "The epoch of each controller; 0 while another one leads.", [query("longshore_controller_epoch", "{{instance}}")]),
        lines("Silence of the API server",
              "On a cluster: time since the API server last sent anything about some kind of object. Normal is a minute; after the start up to ten.",
              [query("longshore_controller_staleness_seconds", "{{instance}}")], "s", up_to=900, thresholds=[(900, RED)]),
        lines("Lists", "On a cluster: lists begun since the start. One list per kind is normal; more mean lost watches.",
              [query("longshore_controller_lists", "{{instance}}")]),
    ]), ("Alerts, and resources of the controller", [
        lines("Alerts", "Pending and firing alerts of Longshore; docs/monitoring.md has a section for each.",
              [query('sum by (alertname, alertstate) (ALERTS{alertname=~"Longshore.+"})', "{{alertname}} {{alertstate}}")]),
        lines("Memory", "Resident memory of the process.", [query(f"process_resident_memory_bytes and {CONTROLLERS}", "{{instance}}")], "bytes"),
        lines("Processor", "Processors used by the process.",
              [query(f"rate(process_cpu_seconds_total[$__rate_interval]) and {CONTROLLERS}", "{{instance}}")], "cores"),
        lines("Files and sockets", "Open files and sockets, as a share of the limit; each node uses one.",
              [query(f"process_open_fds / process_max_fds and {CONTROLLERS}", "{{instance}}")], "percentunit"),
    ])])
