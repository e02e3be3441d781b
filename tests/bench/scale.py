"""Large messages, many models and a second processor."""

import pathlib
import statistics
import tempfile

from models import made_model
from processes import BIN, BOTH_CPUS, CLIENT_CPU, MODELS, client, echo, node, say
from rows import QUICK_ROUNDS, ROUNDS, in_turns, row_of_rounds, shown
from speed import p99_ms, throughput

LARGE, SMALL = 150_000, 1_000  # Floats: 600 KB and 4 KB.
ECHOES = {"bytes": "grpc-bytes", "messages, queue": "grpc-queue", "messages, callback": "grpc-callback"}
MODELS_TOGETHER = 64
DEEP_LAYERS = 600  # A run takes about 2 ms, so the client needs little time beside it.


def measured(served, *flags, cpus: str = CLIENT_CPU) -> dict:
    """Measures the answers per second of a node or an echo, and the time of its processors."""
    port = served.grpc if hasattr(served, "grpc") else served.port
    answer = client(BIN / "longshore-bench", "throughput", f"--grpc=127.0.0.1:{port}", f"--server_pid={served.process.pid}", *flags,
                    cpus=cpus)
    return {"per_second": answer["per_second"], "busy": answer["server_cpu_seconds"] / answer["seconds"],
            "cpu_us": answer["server_cpu_seconds"] / answer["answered"] * 1e6}


def column(taken: list[dict], name: str) -> list[float]:
    return [each[name] for each in taken]


def transfer_rows(quick: bool):
    rounds = QUICK_ROUNDS if quick else ROUNDS
    yield from transfer_of("600 KB in, 4 KB out", made_model("shorten", SMALL), LARGE, SMALL, rounds)
    yield from transfer_of("4 KB in, 600 KB out", made_model("repeat", LARGE // SMALL), SMALL, LARGE, rounds)


def transfer_of(what: str, model: pathlib.Path, sent: int, received: int, rounds: int):
    say(what)
    flags = ("--bytes", f"--shape=1,{sent}", f"--answer_bytes_min={4 * received}", "--outstanding=16")
    with (node(model=model) as ours, echo(ECHOES["bytes"], received) as raw, echo(ECHOES["messages, queue"], received) as queue,
          echo(ECHOES["messages, callback"], received) as callback):
        servers = dict(zip(("ours", *ECHOES), (ours, raw, queue, callback), strict=True))
        taken = in_turns({name: (lambda served=served: measured(served, *flags)) for name, served in servers.items()}, rounds)
    for name, figures in taken.items():
        say(f"    {name}: {statistics.median(column(figures, 'per_second')):.0f}/s, uses "
            f"{statistics.median(column(figures, 'busy')):.2f} of its processor")
    best = max(ECHOES, key=lambda name: statistics.median(column(taken[name], "per_second")))
    peer = f"bare gRPC echo ({best})"
    yield row_of_rounds(f"{what}, answers per second", peer, *(column(taken[name], "per_second") for name in ("ours", best)), ">= 0.95")
    yield shown(f"{what}, processor time of the server per answer, us", peer, *(column(taken[name], "cpu_us") for name in ("ours", best)))


def model_rows(quick: bool):
    rounds = QUICK_ROUNDS if quick else ROUNDS
    say(f"{MODELS_TOGETHER} models")
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "models.config"
        one = 'config {{ name: "m{}" base_path: "{}" model_platform: "tensorflow" }}\n'
        config.write_text("model_config_list {\n" + "".join(one.format(i, MODELS / "half_plus_two_tf2") for i in range(MODELS_TOGETHER)) + "}\n")
        with node() as single, node(f"--model_config_file={config}") as many:
            peak = statistics.median(in_turns({"peak": lambda: throughput("grpc", single.grpc)}, QUICK_ROUNDS)["peak"])
            p99 = in_turns({"many": lambda: p99_ms(many.grpc, peak / 2, MODELS_TOGETHER), "single": lambda: p99_ms(single.grpc, peak / 2)},
                           3 * rounds)
    yield row_of_rounds(f"p99 in ms at {peak / 2:.0f}/s, {MODELS_TOGETHER} models", "one model", p99["many"], p99["single"], "<= 1.2")


def both_sides(what: str, flags: tuple, rounds: int, **model) -> tuple[list[dict], list[dict]]:
    """Measures a node of one processor, with the client on the other, and a node of two processors, which share them with the client."""
    with node(**model) as one, node(**model, cpus=BOTH_CPUS) as two:
        taken = in_turns({"one": lambda: measured(one, *flags), "two": lambda: measured(two, *flags, cpus=BOTH_CPUS)}, rounds)
    used = (f"{statistics.median(column(taken[name], 'busy')):.2f}" for name in ("one", "two"))
    took = (f"{statistics.median(column(taken[name], 'cpu_us')):.0f}" for name in ("one", "two"))
    say(f"  {what}: the nodes use {' and '.join(used)} processors, and {' and '.join(took)} us for an answer")
    return taken["two"], taken["one"]


def processor_rows(quick: bool):
    """The client of the node of two processors needs some of their time, because there is no third one for it."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    say("two processors compared with one")
    sides = both_sides("a model with long runs", ("--bytes", "--shape=1,256", "--outstanding=16"), rounds,
                       model=made_model("deep", DEEP_LAYERS))
    yield row_of_rounds("two processors, long runs, answers per second beside the client", "one processor without the client",
                        *(column(side, "per_second") for side in sides), ">= 1.8")
    two, one = both_sides("one float", (), rounds)
    # An answer needs so much processor time that processors without a client would give so many answers.
    yield row_of_rounds("two processors, one float, answers per second computed from the processor time of an answer", "one processor",
                        [2e6 / each["cpu_us"] for each in two], [1e6 / each["cpu_us"] for each in one], ">= 1.8")
