#!/usr/bin/env python3
"""Measures on an NVIDIA GPU what cannot be known without one, and writes one JSON. README.md describes the parts.

    python3 tests/gpu/gpu_facts.py --output facts.json              all parts
    python3 tests/gpu/gpu_facts.py --output facts.json graphs nvml  only these, put into the file beside its other parts

Each part is a process of its own with a time limit: if one fails, its error is in the JSON and the others go on. Exits with 0 if all
parts have run, 1 if a part has failed or the toolchain is incomplete, 77 if there is no GPU.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import threading
import time

import after_error
import compact
import toolchain
from nvml import Nvml, NvmlError, Watch, answers

HERE = pathlib.Path(__file__).resolve().parent
NO_GPU = 77
PEERS_S = 240
OF_CUDNN = "device properties of cuDNN"


class Runner:
    """Runs the programs of a part and collects their lines."""

    def __init__(self, nvml, programs, environment, scratch, peers_s):
        self.nvml, self.programs, self.environment, self.scratch, self.peers_s = nvml, programs, environment, scratch, peers_s

    def program(self, name, *arguments):
        """The command of a built program. Raises if it could not be built."""
        if not isinstance(self.programs[name], pathlib.Path):
            raise toolchain.ToolchainError(f"{name} was not built: {self.programs[name]}")
        return [str(self.programs[name]), *map(str, arguments)]

    def start(self, command):
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment, cwd=HERE.parents[1])

    def lines(self, command, limit_s):
        """The JSON lines that the command prints. After the limit it is killed; what it has printed by then is kept."""
        process = self.start(command)
        killer = threading.Timer(limit_s, process.kill)
        killer.start()
        output, errors = process.communicate()
        in_time = killer.is_alive()
        killer.cancel()
        found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        if not in_time:
            found.append({"name": "stopped", "error": f"not finished after {limit_s:.0f} s"})
        elif process.returncode != 0:
            found.append({"name": "failed", "error": f"exit code {process.returncode}: {errors.strip()[-300:]}"})
        return found


def _properties(runner, limit_s):
    """The properties that cuDNN plans with are a JSON text in the program's line."""
    lines = runner.lines(runner.program("properties"), limit_s)
    return compact.attributes([{"name": OF_CUDNN, **json.loads(line["json"])} if "json" in line else line for line in lines])


def _fingerprints(lines, table):
    """Takes the last column, which identifies the plans of a shape, out of the table; returns (shape, batch) -> fingerprint."""
    found = {}
    for line in lines:
        if line.get("table") == table:
            last = line.get("row", line.get("columns")).pop()
            if "row" in line:
                found[(line["row"][0], line["row"][1])] = last
    return found


def _compare_with_description(runner, on_device):
    """Lists the plans for the device's description alone, as a machine without a GPU would, and compares them."""
    described = next(line for line in runner.lines(runner.program("properties"), 60) if line["name"] == OF_CUDNN)
    description = runner.scratch / "device_properties.json"
    description.write_text(described["json"])
    listed = runner.lines(runner.program("convolutions", HERE / "shapes.txt", 8, description), 60)
    from_description = _fingerprints(listed, "plans from a description")
    compared = [name for name in from_description if name in on_device]
    return {"name": "lists of plans made from the description of the device", "compared": len(compared),
            "the_same": sum(from_description[name] == on_device[name] for name in compared)}


def _convolutions(runner, limit_s):
    found = []
    for batch in (8, 1, 32):
        found += runner.lines(runner.program("convolutions", HERE / "shapes.txt", batch), limit_s / 3)
    on_device = _fingerprints(found, "convolutions")
    try:
        found.append(_compare_with_description(runner, on_device))
    except (KeyError, StopIteration) as error:
        found.append({"name": "lists of plans made from the description of the device", "error": repr(error)})
    return found


def _products(runner, limit_s):
    algorithms = runner.scratch / "algorithms"
    found = runner.lines(runner.program("products", HERE / "shapes.txt", "write", algorithms), limit_s)
    return found + runner.lines(runner.program("products", HERE / "shapes.txt", "read", algorithms), limit_s)


def _peers(runner, limit_s):
    return runner.lines([sys.executable, str(HERE / "peers.py"), "--budget", str(runner.peers_s)], limit_s + runner.peers_s)


def _programs(*names):
    return lambda runner, limit_s: [line for name in names for line in runner.lines(runner.program(name), limit_s)]


# Part -> how to run it, and its limit in seconds. Errors on the device come after the timings.
PARTS = {
    "properties": (_properties, 60),
    "nvml": (lambda runner, limit_s: [{"name": "what each function says", **answers(runner.nvml)}], 20),
    "memory": (_programs("memory"), 60),
    "graphs": (_programs("graphs"), 60),
    "completion": (_programs("completion"), 30),
    "capture": (_programs("capture"), 60),
    "kernels": (_programs("kernels", "kernels_without_fma"), 60),
    "copies": (_programs("copies"), 60),
    "concurrency": (_programs("concurrency"), 60),
    "priorities": (_programs("priorities"), 60),
    "products": (_products, 100),
    "convolutions": (_convolutions, 180),
    "errors": (after_error.run, 90),
    "peers": (_peers, 30),
}


def run_part(runner, name):
    """Returns the part's entry in the JSON."""
    run, limit_s = PARTS[name]
    began = time.monotonic()
    with Watch(runner.nvml) as watch:
        try:
            lines = run(runner, limit_s)
        except Exception as error:  # Whatever fails, the other parts go on.
            lines = [{"name": "failed", "error": f"{type(error).__name__}: {error}"}]
    tables, facts = {}, []
    for line in lines:
        if "columns" in line:
            tables.setdefault(line["table"], {"columns": line["columns"], "rows": []})
        elif "row" in line:
            tables[line["table"]]["rows"].append(line["row"])
        else:
            facts.append(line)
    facts, made = compact.facts_and_tables(facts)
    return {"seconds": round(time.monotonic() - began, 1), "card": watch.summary(), "facts": facts, "tables": {**compact.tables(tables), **made}}


def about(nvml):
    cpu = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    compiler = subprocess.run([toolchain.find_nvcc(), "--version"], capture_output=True, text=True, check=False).stdout.strip().splitlines()
    return {"date": datetime.date.today().isoformat(), "card": nvml.state()["name"], "driver": nvml.text("nvmlSystemGetDriverVersion"),
            "nvcc": compiler[-1] if compiler else "", "python": platform.python_version(), "processor": cpu, "processors": os.cpu_count(),
            "kernel": platform.release().split("-")[0]}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build/gpu-facts", metavar="DIR", help="for the programs [build/gpu-facts]")
    parser.add_argument("--build-only", metavar="CAPABILITY", help="only build, for a device such as 90 (9.0); needs no GPU")
    parser.add_argument("--peers-s", type=int, default=PEERS_S, metavar="S", help=f"the time of the part peers [{PEERS_S}]")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS)} [all]")
    flags = parser.parse_args()
    if unknown := set(flags.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(unknown)}")
    return flags


def measure(flags, nvml):
    programs = toolchain.build(flags.build, nvml.compute_capability())
    library_path = ":".join([*toolchain.library_folders(), os.environ.get("LD_LIBRARY_PATH", "")])
    runner = Runner(nvml, programs, {**os.environ, "LD_LIBRARY_PATH": library_path}, flags.build, flags.peers_s)
    written = json.loads(flags.output.read_text()) if flags.output.exists() else {"parts": {}}
    written["about"] = about(nvml)
    failed = False
    for name in flags.parts or PARTS:
        part = written["parts"][name] = run_part(runner, name)
        errors = [fact for fact in part["facts"] if "error" in fact]
        failed |= bool(errors)
        flags.output.write_text(compact.to_text(written) + "\n")
        print(f"gpu_facts: {name}: {part['seconds']} s, {len(part['facts'])} facts, {sum(len(table['rows']) for table in part['tables'].values())} rows"
              + "".join(f"\n  {error['name']}: {error['error']}" for error in errors[:5]), flush=True)
    return 1 if failed else 0


def main():
    flags = parse_arguments()
    try:
        if flags.build_only:
            failures = [f"{name}: {path}" for name, path in toolchain.build(flags.build, flags.build_only).items() if isinstance(path, str)]
            print("\n".join(failures) or f"gpu_facts: built in {flags.build}")
            return 1 if failures else 0
        nvml = Nvml()
    except NvmlError as error:
        print(f"gpu_facts: no NVIDIA GPU can be used, so nothing was measured: {error}")
        return NO_GPU
    try:
        return measure(flags, nvml)
    except toolchain.ToolchainError as error:
        print(f"gpu_facts: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
