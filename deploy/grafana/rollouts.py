"""The versions that Models serve, their rollouts, and the verdicts of the analysis."""

from grafana import BLUE, GRAY, GREEN, ORANGE, RED, YELLOW, bars, dashboard, lines, number, query, rows, states, variable

CHOSEN = 'fleet=~"$fleet",model=~"$model"'
MODEL = "{{namespace}}/{{name}}"
PHASES = {"Validating": BLUE, "Loading": BLUE, "Shadow": YELLOW, "Preview": YELLOW, "Step": YELLOW, "Paused": ORANGE, "Promoting": BLUE, "Completed": GREEN,
          "RolledBack": RED}
UNDER_WAY = "Validating|Loading|Shadow|Preview|Step|Paused|Promoting"
RESULTS = {"Undecided": GRAY, "Pass": GREEN, "Fail": RED, "Inconclusive": ORANGE}


def numbered(metric, label, values):
    """One series for each Model: the place of its value among the values, from 1."""
    each = [f'longshore_model_rollout_{metric}{{{CHOSEN},{label}="{value}"}} * {place}' for place, value in enumerate(values, 1)]
    return f"sum by (namespace, name) ({' or '.join(each)})"


def places(values):
    return {0: ("None", GRAY)} | {place: (value, color) for place, (value, color) in enumerate(values.items(), 1)}


def phases_in(which):
    return f'sum(longshore_model_rollout_phase{{{CHOSEN},phase=~"{which}"}})'


def of_each(expr):
    return query(f"max by (namespace, name, fleet) ({expr})", table=True)


OVERVIEW = rows(
    "Models", "Phase and verdict of the last rollout; `longshore explain NAME` explains them with the numbers.",
    [of_each(f"longshore_model_stable_version{{{CHOSEN}}}"), of_each(f"longshore_model_candidate_version{{{CHOSEN}}}"),
     of_each(f"longshore_model_rollout_step{{{CHOSEN}}}"), of_each(f"longshore_model_rollout_steps{{{CHOSEN}}}"),
     query(f"max by (namespace, name, fleet, phase) (longshore_model_rollout_phase{{{CHOSEN}}} == 1)", table=True),
     query(f"max by (namespace, name, fleet, result, reason) (longshore_model_rollout_verdict{{{CHOSEN}}})", table=True)],
    {"namespace": "Namespace", "name": "Model", "fleet": "Fleet", "Value #A": "Serves", "Value #B": "Candidate", "Value #C": "Step",
     "Value #D": "Steps", "phase": "Phase", "result": "Verdict", "reason": "Why"}, size=(24, 7))

DASHBOARD = dashboard(
    "longshore-rollouts", "Rollouts", "Phase, weight, evidence and verdict of each Model's rollout.",
    [("Now", [
        number("Under way", "Rollouts that have not ended.", phases_in(UNDER_WAY)),
        number("Waiting", "Rollouts that wait for a person to promote, resume or abort.",
               f"sum(longshore_model_rollout_waiting{{{CHOSEN}}})", thresholds=[(1, ORANGE)]),
        number("Not ready", "Models that no node can serve.",
               f'count(longshore_model_condition{{{CHOSEN},type="Ready"}}) - sum(longshore_model_condition{{{CHOSEN},type="Ready"}})',
               thresholds=[(1, RED)]),
        number("Stalled", "Models whose desired version failed or is rejected: nothing happens until a person acts.",
               f'sum(longshore_model_condition{{{CHOSEN},type="Stalled"}})', thresholds=[(1, RED)]),
        number("Promoted", "Rollouts that were completed in the selected time.",
               f'sum(increase(longshore_model_rollouts_total{{{CHOSEN},result="Completed"}}[$__range]))', decimals=0),
        number("Rolled back", "Rollouts that were rolled back in the selected time.",
               f'sum(increase(longshore_model_rollouts_total{{{CHOSEN},result="RolledBack"}}[$__range]))', decimals=0, thresholds=[(0.5, ORANGE)]),
        OVERVIEW,
    ]), ("Each rollout", [
        states("Phases", "The phase of each Model's rollout.", [query(numbered("phase", "phase", PHASES), MODEL)], places(PHASES)),
        states("Verdicts", "The verdict of the analysis over time.", [query(numbered("verdict", "result", RESULTS), MODEL)],
               places(RESULTS)),
        lines("Weights", "The share of the requests that each version should get.",
              [query(f"longshore_model_weight_ratio{{{CHOSEN}}}", f"{MODEL} version {{{{version}}}}")], "percentunit", maximum=1),
        lines("Evidence against the candidate",
              "Relative to the test's limit: at 1 the test fires. ErrorRate and Latency roll back, LatencyBaseline holds the rollout."
              " The tests are sequential, so inspecting them often does not raise the probability of a false rollback.",
              [query(f"longshore_model_rollout_evidence_ratio{{{CHOSEN}}}", f"{MODEL}: {{{{test}}}}")], up_to=1.1, thresholds=[(1, RED)]),
        lines("Proof that the candidate is no worse",
              "Relative to a proof: at 1 it is shown with 95 % confidence that the candidate is not worse than stable by more than the"
              " tolerance. A step with proof Required ends then; if that takes longer than analysis.patience, the verdict is Inconclusive.",
              [query(f"longshore_model_rollout_proof_ratio{{{CHOSEN}}}", f"{MODEL}: {{{{test}}}}")], up_to=1.1, thresholds=[(1, GREEN)]),
        lines("Difference of the error rates",
              "The candidate's error rate less stable's: the true difference is between low and high (95 % confidence). Detectable: the"
              " smallest increase that so much evidence finds.",
              [query(f"longshore_model_rollout_error_difference_ratio{{{CHOSEN}}}", f"{MODEL}: {{{{bound}}}}"),
               query(f"longshore_model_rollout_error_detectable_ratio{{{CHOSEN}}}", f"{MODEL}: detectable")], "percentunit"),
        lines("Ratio of the run times",
              "The candidate's median run time divided by stable's: the true ratio is between low and high (95 % confidence).",
              [query(f"longshore_model_rollout_run_time_ratio{{{CHOSEN}}}", f"{MODEL}: {{{{bound}}}}")]),
        lines("Run time, candidate and stable", "p99 of the evidence: the run without waiting, at the node that ran it. Baseline: stable before the rollout.",
              [query(f'longshore_model_rollout_run_seconds{{{CHOSEN},quantile="0.99"}}', f"{MODEL}: {{{{arm}}}}")], "s"),
        lines("Errors, candidate and stable", "The share of failed requests in the rollout's evidence.",
              [query(f"longshore_model_rollout_errors{{{CHOSEN}}} / longshore_model_rollout_requests{{{CHOSEN}}}", f"{MODEL}: {{{{arm}}}}")],
              "percentunit"),
        lines("Requests in the evidence", "Requests of each version, and inputs that ran on both versions (pairs).",
              [query(f"longshore_model_rollout_requests{{{CHOSEN}}}", f"{MODEL}: {{{{arm}}}}"),
               query(f"longshore_model_rollout_pairs{{{CHOSEN}}}", f"{MODEL}: pairs")]),
        lines("Time at this phase and weight", "A step that lasts longer than its hold waits for requests, nodes or a person.",
              [query(f"(time() - longshore_model_rollout_step_start_time_seconds{{{CHOSEN}}}) and on (namespace, name)"
                     f' (longshore_model_rollout_phase{{{CHOSEN},phase=~"{UNDER_WAY}"}} == 1)', MODEL)], "s"),
    ]), ("All rollouts", [
        bars("Verdicts of the last rollouts, by reason", "The last rollout of every Model.",
             f"sum by (result, reason) (longshore_model_rollout_verdict{{{CHOSEN}}})", "{{result}}: {{reason}}", size=(8, 8)),
        lines("Duration of rollouts", "From begin to end, median in the selected time. RolledBack: how soon bad versions were found.",
              [query("histogram_quantile(0.5, sum by (le, result) (increase(longshore_rollout_seconds_bucket[$__range])))", "{{result}}")],
              "s", size=(8, 8)),
        lines("Versions on nodes", "Number of nodes per version and state.",
              [query(f'sum by (model, version, state) (longshore_version_state{{{CHOSEN},state!="end"}}) > 0', "{{model}} version {{version}} {{state}}")],
              size=(8, 8)),
        lines("Duration of loads", "Average of successful loads since the nodes started.",
              [query('sum by (fleet) (:tensorflow:cc:saved_model:load_latency{fleet=~"$fleet"}) / 1e6'
                     ' / sum by (fleet) (:tensorflow:cc:saved_model:load_attempt_count{fleet=~"$fleet",status="success"})',
                     "{{fleet}}")], "s", size=(12, 8)),
        rows("Problems of Models", "Conditions with a bad status; `kubectl describe` or `longshore describe` shows the message.",
             [query(f'longshore_model_condition{{{CHOSEN},type=~"Ready|FleetFound|NameAccepted|ManifestAccepted|FilesAgree|LabelsServed|'
                    'NodesAvailable|RulesApplied"} == 0'
                    f' or longshore_model_condition{{{CHOSEN},type="Stalled"}} == 1', table=True)],
             {"namespace": "Namespace", "name": "Model", "fleet": "Fleet", "type": "Condition", "reason": "Why"}, size=(12, 8)),
    ])],
    [variable("fleet", "Fleet", "longshore_model_stable_version", "fleet"),
     variable("model", "Model", 'longshore_model_stable_version{fleet=~"$fleet"}', "model")])
