"""Throughput and tail latency compared with bare servers of the same messages; new connections; JSON; start."""

import functools
import statistics

from processes import BIN, client, echo, node, say
from rows import QUICK_ROUNDS, ROUNDS, in_turns, row_of_figures, row_of_rounds, shown


def throughput(protocol: str, port: int) -> float:
    return client(BIN / "longshore-bench", "throughput", f"--{protocol}=127.0.0.1:{port}")["per_second"]


def p99_ms(port: int, rate: float, models: int = 0) -> float:
    answer = client(BIN / "longshore-bench", "pace", f"--grpc=127.0.0.1:{port}", f"--rate={rate:.0f}", f"--models={models}")
    return answer["p99_ms"]


def grpc_rows(quick: bool):
    say("gRPC Predict of a tiny model")
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with node() as ours, echo("grpc-callback") as callback, echo("grpc-queue") as queue, echo("grpc-bytes") as raw:
        ports = {"ours": ours.grpc, "callback": callback.port, "queue": queue.port, "bytes": raw.port}
        per_second = in_turns({name: functools.partial(throughput, "grpc", port) for name, port in ports.items()}, rounds)
        better = max(("callback", "queue"), key=lambda name: statistics.median(per_second[name]))
        peer = f"bare gRPC echo ({better})"
        what = "gRPC Predict, answers per second"
        yield row_of_rounds(what, peer, per_second["ours"], per_second[better], ">= 0.9")
        yield shown(what, "gRPC echo of bytes, which parses nothing", per_second["ours"], per_second["bytes"])
        rate = statistics.median(per_second["ours"]) / 2
        p99 = in_turns({"ours": lambda: p99_ms(ours.grpc, rate), "theirs": lambda: p99_ms(ports[better], rate)}, 3 * rounds)
        yield row_of_rounds(f"gRPC Predict, p99 in ms at half load, {rate:.0f}/s", peer, p99["ours"], p99["theirs"], "<= 1.3")


def accepts(protocol: str, port: int) -> float:
    return client(BIN / "longshore-bench", "accepts", f"--protocol={protocol}", f"--port={port}")["per_second"]


def accept_rows(quick: bool):
    say("new connections, while 50 others stay open")
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with node() as ours, echo("grpc-callback") as grpc_echo, echo("rest") as rest_echo:
        for name, protocol, port, peer, its_port in (("gRPC", "grpc", ours.grpc, "bare gRPC echo (callback)", grpc_echo.port),
                                                     ("REST", "rest", ours.rest, "bare Beast echo", rest_echo.port)):
            measures = {"ours": functools.partial(accepts, protocol, port), "theirs": functools.partial(accepts, protocol, its_port)}
            per_second = in_turns(measures, rounds)
            yield row_of_rounds(f"{name}, connections accepted per second", peer, per_second["ours"], per_second["theirs"], ">= 0.9")


def rest_rows(quick: bool):
    say("REST predict of a tiny model")
    with node() as ours, echo("rest") as theirs:
        per_second = in_turns({"ours": lambda: throughput("rest", ours.rest), "theirs": lambda: throughput("rest", theirs.port)},
                              QUICK_ROUNDS if quick else ROUNDS)
        yield row_of_rounds("REST predict, answers per second", "bare Beast echo", per_second["ours"], per_second["theirs"], ">= 0.85")


def json_rows(quick: bool):
    say("JSON body of 1x224x224x3 floats")
    measured = in_turns({"speed": lambda: client(BIN / "longshore-bench", "json")["millions_per_second"],
                         "infer": lambda: client(BIN / "longshore-bench", "json-infer")["millions_per_second"],
                         "peak": lambda: client(BIN / "longshore-bench", "json-memory")["peak_over_body"]},
                        QUICK_ROUNDS if quick else ROUNDS)
    for digits in sorted(measured["speed"][0]):
        millions = [speed[digits] for speed in measured["speed"]]
        yield row_of_figures(f"JSON to tensor, million floats per second, {digits} digits", millions, ">= 50")
        infer = [speed[digits] for speed in measured["infer"]]
        yield row_of_figures(f"JSON of the Open Inference Protocol to tensor, million floats per second, {digits} digits", infer, ">= 50")
    yield row_of_figures("JSON to tensor, peak memory over the body's bytes", measured["peak"], "<= 4")


def start_rows(quick: bool):
    say("start")

    def start() -> float:
        with node() as ours:
            return ours.seconds * 1000
    took = in_turns({"start": start}, QUICK_ROUNDS if quick else ROUNDS)["start"]
    yield row_of_figures("start to ready, ms", took, "<= 300")
