"""The part `errors`: what a watching process sees of a process whose kernel fails or does not end."""

import json
import time

from nvml import Utilization, XidEvents, fields, processes

FIRST_KERNELS = 7
HANG_S = 3
KILLED_HANG_S = 8


def _first_kernels(runner, when, count):
    """How long a new process takes, from outside and in its own words."""
    outside, inside = [], []
    for _ in range(count):
        began = time.perf_counter()
        inside += runner.lines(runner.program("errors", "first"), 30)
        outside.append(round((time.perf_counter() - began) * 1e3, 1))
    median = sorted(range(count), key=lambda i: outside[i])[count // 2]
    return {"name": f"first kernel of a new process, {when}", "processes": count, "whole_process_ms": outside, **{
        key: value for key, value in inside[median].items() if key != "name"}}


def _look(nvml):
    return {**nvml.state(),
            "utilization": fields(nvml.get("nvmlDeviceGetUtilizationRates", Utilization)), "used_bytes": nvml.used_bytes(), "processes": processes(nvml)}


def _hang(runner):
    """Looks at the device while a kernel of three seconds runs."""
    process = runner.start(runner.program("errors", "hang", HANG_S))
    found = [json.loads(process.stdout.readline())]
    time.sleep(HANG_S / 2)
    found.append({"name": "NVML while a kernel does not end", "answer": _look(runner.nvml)})
    found += [json.loads(line) for line in process.communicate()[0].splitlines()]
    return found


def _kill(runner):
    """Kills a process whose kernel would run for eight seconds."""
    before = runner.nvml.used_bytes()
    process = runner.start(runner.program("errors", "hang", KILLED_HANG_S))
    process.stdout.readline()
    began = time.perf_counter()
    process.kill()
    process.wait()
    ended_ms = (time.perf_counter() - began) * 1e3
    while runner.nvml.used_bytes() > before + (8 << 20) and time.perf_counter() - began < 2 * KILLED_HANG_S:
        time.sleep(0.005)
    return {"name": "process killed while its kernel runs", "process_ended_after_ms": round(ended_ms, 1),
            "memory_free_after_ms": round((time.perf_counter() - began) * 1e3, 1)}


def _illegal(runner):
    """Registers for XID events and lets a process fail."""
    events = XidEvents(runner.nvml)
    began = time.perf_counter()
    found = runner.lines(runner.program("errors", "illegal"), 30)
    xid = events.wait(3000)
    return found + [{"name": "XID event of NVML after an illegal address", "registration": events.registered, "event": xid,
                     "after_ms": round((time.perf_counter() - began) * 1e3, 1)},
                    {"name": "NVML after an illegal address", "answer": _look(runner.nvml)}]


def run(runner, limit_s):
    """Each step in turn; one that fails does not keep the next from running."""
    before = runner.nvml.used_bytes()
    steps = [lambda: [_first_kernels(runner, "an idle device", FIRST_KERNELS)],
             lambda: runner.lines(runner.program("errors", "calls"), limit_s / 2),
             lambda: _hang(runner),
             lambda: [_kill(runner)],
             lambda: [_first_kernels(runner, "after a killed process", 1)],
             lambda: _illegal(runner),
             lambda: [_first_kernels(runner, "after an illegal address", 1)],
             lambda: [{"name": "memory of the device that is still taken", "bytes": runner.nvml.used_bytes() - before}]]
    found = []
    for step in steps:
        try:
            found += step()
        except Exception as error:
            found.append({"name": "failed", "error": f"{type(error).__name__}: {error}"})
    return found
