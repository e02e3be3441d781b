"""./dev demo: Longshore's main functions, live, in less than five minutes.

Starts Prometheus, a controller and its nodes on free ports, with all files in a temporary folder, and sends constant load.
Promotes one version and rolls back others, scales a fleet, and kills a controller and a node. One version cannot be proven:
a person promotes it, and undoes that. At the end it prints a table of expected and observed results and stops all programs,
unless --stay is given. The exit code is 1 if any result differs.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import demo_scenario
import programs
import view


def read_flags():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true",
                        help="print the results as one JSON object on standard output, and everything else on standard error")
    parser.add_argument("--stay", action="store_true", help="keep everything running at the end and print commands to try; Ctrl-C stops it")
    return parser.parse_args()


def find_prometheus():
    path = os.environ.get("LONGSHORE_PROMETHEUS") or shutil.which("prometheus")
    if path and pathlib.Path(path).exists():
        return pathlib.Path(path).resolve()
    raise programs.DemoError("Prometheus was not found: run ./dev setup, or set LONGSHORE_PROMETHEUS to the path of the program")


def make_report(scenario, seconds):
    names = ["requests", "failed", "wrong_version", "retried", "rollback_seconds", "undo_seconds", "split_deviation_pp",
             "keyed_deviation_pp", "keyed_keys", "keys_moved", "keys_moved_wrongly", "node_restarts", "scaled_out_to", "new_node_share"]
    return {**{name: scenario.result.get(name) for name in names}, "seconds": round(seconds, 1),
            "expectations": scenario.expectations}


def stay(scenario, out):
    manifests = scenario.folder / "manifests"
    program = scenario.bin / "longshore"
    print(f"""
Everything keeps running. Try these commands in another terminal:

  export LONGSHORE_MANIFESTS={manifests}
  {program} get models --watch
  {program} get fleets
  {program} explain digits
  {program} retry digits                           # tries v5 again
  sed -i 's/version: .*/version: 1/' {manifests}/digits.yaml      # returns to v1 with a new rollout
  curl -s http://{scenario.cluster.address('main', 'rest')}/v1/models/halves:predict -d '{{"instances": [1.0, 2.0]}}'

Prometheus: http://127.0.0.1:{scenario.prometheus_port}    Logs: {scenario.folder / 'logs'}
Ctrl-C stops everything.""", file=out, flush=True)
    while True:
        scenario.pause(1)


def run(scenario, flags, out):
    """Returns the exit code."""
    began = time.monotonic()
    scenario.view = view.View(out, scenario.state)
    try:
        scenario.run()
    finally:
        scenario.view.close()
    view.print_expectations(scenario.expectations, out)
    result = make_report(scenario, time.monotonic() - began)
    met = scenario.all_met()
    outcome = "Everything went as expected" if met else "Some results were NOT as expected"
    print(f"\n{outcome}, in {result['seconds']:.0f} seconds.", file=out)
    if flags.json:
        print(json.dumps(result), flush=True)
    if flags.stay:
        stay(scenario, out)
    return 0 if met else 1


def main():
    flags = read_flags()
    out = view.choose_out(flags.json)
    programs.end_on_signals()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="longshore-"))
    scenario, code = None, 1
    try:
        scenario = demo_scenario.DemoScenario(folder, programs.find_programs(), find_prometheus())
        code = run(scenario, flags, out)
    except programs.Interrupted:
        print("\nInterrupted.", file=out)
        code = 130
    except (programs.DemoError, TimeoutError) as error:
        print(f"demo: {error}", file=sys.stderr)
    finally:
        programs.ignore_signals()
        if scenario is not None:
            scenario.cluster.end()
            scenario.programs.end_all()
        if code in (0, 130):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"demo: the logs are in {folder / 'logs'}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
