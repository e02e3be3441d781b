"""NVIDIA's management library: the state of the card, and which of its functions answer.

    python3 tests/gpu/nvml.py    prints, as JSON, what each function says
"""

import ctypes
import json
import statistics
import threading

LIBRARY = "libnvidia-ml.so.1"
NOT_FOUND = "not in the library"
UINT, ULONG, INT = ctypes.c_uint, ctypes.c_ulonglong, ctypes.c_int
XID_EVENT = 8
CLOCK_SM, CLOCK_MEMORY = 1, 2


class Memory(ctypes.Structure):
    _fields_ = [("total", ULONG), ("free", ULONG), ("used", ULONG)]


class MemoryV2(ctypes.Structure):
    _fields_ = [("version", UINT), ("total", ULONG), ("reserved", ULONG), ("free", ULONG), ("used", ULONG)]


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", UINT), ("memory", UINT)]


class Process(ctypes.Structure):
    _fields_ = [("pid", UINT), ("used_bytes", ULONG), ("gpu_instance", UINT), ("compute_instance", UINT)]


class Event(ctypes.Structure):
    _fields_ = [("device", ctypes.c_void_p), ("type", ULONG), ("data", ULONG), ("gpu_instance", UINT), ("compute_instance", UINT)]


class NvmlError(Exception):
    """The library is missing, or a call failed."""


class Nvml:
    """The library, with the first device."""

    def __init__(self):
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise NvmlError(f"{LIBRARY} was not found") from error
        self.device = ctypes.c_void_p()
        self.call("nvmlInit_v2")
        self.call("nvmlDeviceGetHandleByIndex_v2", UINT(0), ctypes.byref(self.device))

    def status(self, name, *arguments):
        """Calls the function; returns "ok" or the words of the error."""
        function = getattr(self._library, name, None)
        if function is None:
            return NOT_FOUND
        code = function(*arguments)
        self._library.nvmlErrorString.restype = ctypes.c_char_p
        return "ok" if code == 0 else f"{code}: {self._library.nvmlErrorString(code).decode()}"

    def call(self, name, *arguments):
        status = self.status(name, *arguments)
        if status != "ok":
            raise NvmlError(f"{name}: {status}")

    def get(self, name, kind, *arguments):
        """The value that a function of the device writes to its last argument."""
        value = kind()
        self.call(name, self.device, *arguments, ctypes.byref(value))
        return value

    def text(self, name, *arguments):
        buffer = ctypes.create_string_buffer(256)
        self.call(name, *arguments, buffer, UINT(256))
        return buffer.value.decode()

    def compute_capability(self):
        """90 for 9.0."""
        major, minor = INT(), INT()
        self.call("nvmlDeviceGetCudaComputeCapability", self.device, ctypes.byref(major), ctypes.byref(minor))
        return major.value * 10 + minor.value

    def state(self):
        """Name, clocks, power and temperature at this moment."""
        number = lambda name, *arguments: self.get(name, UINT, *arguments).value
        return {"name": self.text("nvmlDeviceGetName", self.device), "sm_mhz": number("nvmlDeviceGetClockInfo", UINT(CLOCK_SM)),
                "memory_mhz": number("nvmlDeviceGetClockInfo", UINT(CLOCK_MEMORY)), "power_state": f"P{number('nvmlDeviceGetPerformanceState')}",
                "power_w": number("nvmlDeviceGetPowerUsage") / 1000, "temperature_c": number("nvmlDeviceGetTemperature", UINT(0)),
                "reasons_for_lower_clocks": hex(self.get("nvmlDeviceGetCurrentClocksEventReasons", ULONG).value)}

    def used_bytes(self):
        return self.get("nvmlDeviceGetMemoryInfo", Memory).used


class Watch:
    """Reads the state every quarter of a second while a part runs: `with Watch(nvml) as watch`, then watch.summary()."""

    def __init__(self, nvml):
        self._nvml, self._stop, self._seen = nvml, threading.Event(), []
        self._thread = threading.Thread(target=self._read, daemon=True)

    def _read(self):
        while not self._stop.wait(0.25):
            self._seen.append((self._nvml.state(), self._nvml.used_bytes()))

    def __enter__(self):
        self.before = self._nvml.state()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def summary(self):
        """Of the clock of the multiprocessors: the lowest, the median and the highest."""
        states = [self.before, *(state for state, _ in self._seen)]
        clocks = [state["sm_mhz"] for state in states]
        seen = lambda key: "/".join(sorted({str(state[key]) for state in states}))
        return {"sm_mhz": [min(clocks), int(statistics.median(clocks)), max(clocks)], "memory_mhz": seen("memory_mhz"),
                "power_state": seen("power_state"), "reasons_for_lower_clocks": seen("reasons_for_lower_clocks"),
                "power_w_max": max(state["power_w"] for state in states), "temperature_c_max": max(state["temperature_c"] for state in states),
                "used_bytes_max": max((used for _, used in self._seen), default=0)}


def fields(structure):
    return {name: getattr(structure, name) for name, _ in structure._fields_ if name not in ("version", "device", "pid")}


def processes(nvml):
    count, found = UINT(16), (Process * 16)()
    nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", nvml.device, ctypes.byref(count), found)
    return [fields(process) for process in found[:count.value]]


def _memory_v2(nvml):
    memory = MemoryV2(version=ctypes.sizeof(MemoryV2) | 2 << 24)
    nvml.call("nvmlDeviceGetMemoryInfo_v2", nvml.device, ctypes.byref(memory))
    return fields(memory)


def _pair(nvml, name, *kinds):
    values = [UINT() for _ in range(2)]
    nvml.call(name, nvml.device, *kinds, *map(ctypes.byref, values))
    return [value.value for value in values]


def _remapped_rows(nvml):
    values = [UINT() for _ in range(4)]
    nvml.call("nvmlDeviceGetRemappedRows", nvml.device, *map(ctypes.byref, values))
    return dict(zip(("corrected", "uncorrected", "is_pending", "failed"), (value.value for value in values)))


def _system_version(nvml, name):
    version = INT()
    nvml.call(name, ctypes.byref(version))
    return version.value


def questions(nvml):
    """Function -> how to ask it. The functions that a node needs come first; the others are worth knowing."""
    number = lambda name, *arguments, kind=UINT: (lambda: nvml.get(name, kind, *arguments).value)
    asked = {
        "nvmlSystemGetDriverVersion": lambda: nvml.text("nvmlSystemGetDriverVersion"),
        "nvmlSystemGetNVMLVersion": lambda: nvml.text("nvmlSystemGetNVMLVersion"),
        "nvmlSystemGetCudaDriverVersion": lambda: _system_version(nvml, "nvmlSystemGetCudaDriverVersion"),
        "nvmlSystemGetCudaDriverVersion_v2": lambda: _system_version(nvml, "nvmlSystemGetCudaDriverVersion_v2"),
        "nvmlInitWithFlags": lambda: nvml.call("nvmlInitWithFlags", UINT(0)) or "ok",
        "nvmlDeviceGetCount_v2": lambda: _system_version(nvml, "nvmlDeviceGetCount_v2"),
        "nvmlDeviceGetName": lambda: nvml.text("nvmlDeviceGetName", nvml.device),
        "nvmlDeviceGetUUID": lambda: nvml.text("nvmlDeviceGetUUID", nvml.device)[:4] + "...",
        "nvmlDeviceGetHandleByUUID": lambda: nvml.call("nvmlDeviceGetHandleByUUID", nvml.text("nvmlDeviceGetUUID", nvml.device).encode(),
                                                       ctypes.byref(ctypes.c_void_p())) or "ok",
        "nvmlDeviceGetMemoryInfo": lambda: fields(nvml.get("nvmlDeviceGetMemoryInfo", Memory)),
        "nvmlDeviceGetMemoryInfo_v2": lambda: _memory_v2(nvml),
        "nvmlDeviceGetUtilizationRates": lambda: fields(nvml.get("nvmlDeviceGetUtilizationRates", Utilization)),
        "nvmlDeviceGetClockInfo": number("nvmlDeviceGetClockInfo", UINT(CLOCK_SM)),
        "nvmlDeviceGetMaxClockInfo": number("nvmlDeviceGetMaxClockInfo", UINT(CLOCK_SM)),
        "nvmlDeviceGetTemperature": number("nvmlDeviceGetTemperature", UINT(0)),
        "nvmlDeviceGetCurrentClocksThrottleReasons": number("nvmlDeviceGetCurrentClocksThrottleReasons", kind=ULONG),
        "nvmlDeviceGetCurrentClocksEventReasons": number("nvmlDeviceGetCurrentClocksEventReasons", kind=ULONG),
        "nvmlDeviceGetSupportedEventTypes": number("nvmlDeviceGetSupportedEventTypes", kind=ULONG),
        **{f"nvmlDeviceGetTotalEccErrors, {error}, {since}": number("nvmlDeviceGetTotalEccErrors", INT(kind), INT(counter), kind=ULONG)
           for kind, error in enumerate(("corrected", "uncorrected")) for counter, since in enumerate(("since the last reset", "in its life"))},
        "nvmlDeviceGetMigMode": lambda: _pair(nvml, "nvmlDeviceGetMigMode"),
        "nvmlDeviceGetEccMode": lambda: _pair(nvml, "nvmlDeviceGetEccMode"),
        "nvmlDeviceGetCudaComputeCapability": nvml.compute_capability,
        "nvmlDeviceGetComputeRunningProcesses_v3": lambda: processes(nvml),
        "nvmlDeviceGetRemappedRows": lambda: _remapped_rows(nvml),
    }
    for name in ("Index", "MinorNumber", "PowerUsage", "EnforcedPowerLimit", "PerformanceState", "PersistenceMode", "ComputeMode",
                 "CurrPcieLinkGeneration", "CurrPcieLinkWidth", "MaxPcieLinkGeneration"):
        asked[f"nvmlDeviceGet{name}"] = number(f"nvmlDeviceGet{name}")
    return asked


def answers(nvml):
    """Function -> its value, or {"error": ...}."""
    found = {}
    for name, ask in questions(nvml).items():
        try:
            found[name] = ask()
        except NvmlError as error:
            found[name] = {"error": str(error)}
    return found


class XidEvents:
    """Waits for XID events of the device, which the driver reports after an error on it."""

    def __init__(self, nvml):
        self._nvml, self._set = nvml, ctypes.c_void_p()
        nvml.call("nvmlEventSetCreate", ctypes.byref(self._set))
        self.registered = nvml.status("nvmlDeviceRegisterEvents", nvml.device, ULONG(XID_EVENT), self._set)

    def wait(self, milliseconds):
        """Returns the number of the XID, or the words of the error; a timeout is one."""
        event = Event()
        status = self._nvml.status("nvmlEventSetWait_v2", self._set, ctypes.byref(event), UINT(milliseconds))
        return event.data if status == "ok" else status


if __name__ == "__main__":
    print(json.dumps(answers(Nvml()), indent=1))
