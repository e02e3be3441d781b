"""Computes the demo's results from the counts of the load generators. Pure; the names are those of the JSON report.

A result is None if nothing happened that it could be measured on: a run in which nothing happens meets none of the LIMITS.
"""

import collections
import datetime
import hashlib
import re

KEYS = 100_000
RETRIED_MAX = 100          # A killed node breaks the connections of the requests in flight, and clients send those again.
# The loads of the demo, and which versions may answer them. The versions of the load "digits" depend on the segment.
LOADS = {"digits": None, "users": {1, 2}, "busy": {1}, "nan": {2, 4}, "quiet": {1, 2}, "trial": {1, 2}}

# A changed weight takes up to this long to reach the nodes. A request in between may get the version of either weight.
INCREASE_DELAY_MAX_MS = 1000
DECREASE_DELAY_MAX_MS = 3000


def bucket_of(salt, key):
    """The bucket of a key, from 0 to 9999, as defined in docs/assignment.md."""
    digest = hashlib.sha256(f"{salt}\n{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") * 10000 >> 64


def answers(segment, version, kinds=("keyed", "unkeyed")):
    counts = segment["versions"].get(str(version), {})
    return sum(counts.get(kind, 0) for kind in kinds)


def all_answers(segment, kinds=("keyed", "unkeyed")):
    return sum(answers(segment, version, kinds) for version in segment["versions"])


def split_deviation_pp(segment, candidate, weight_percent, kind):
    """The distance between the candidate's share of one kind of request and its weight, in percentage points.

    Returns None if there were no requests of that kind.
    """
    total = all_answers(segment, (kind,))
    if total == 0:
        return None
    return abs(100 * answers(segment, candidate, (kind,)) / total - weight_percent)


def count_wrong_versions(segments, allowed):
    """Counts the answers from a version that is not in `allowed(segment name)`, and those whose version is disputed.

    Returns None if there were no answers.
    """
    if not any(map(all_answers, segments.values())):
        return None
    wrong = 0
    for name, segment in segments.items():
        legal = {str(version) for version in allowed(name)}
        wrong += sum(all_answers({"versions": {version: counts}})
                     for version, counts in segment["versions"].items() if version not in legal)
        wrong += segment["version_disputed"]
    return wrong


def first_trip_ms(logs, model, version):
    """The earliest time at which the log of any node reports a non-finite answer of this version; None if no log does."""
    found = re.findall(rf'^(\S+) W [^\n]* model "{model}" version {version}: guard NonFinite', "\n".join(logs), re.MULTILINE)
    return min((round(datetime.datetime.fromisoformat(at).timestamp() * 1000) for at in found), default=None)


def last_answer_ms(segments, version):
    """When a client received the last answer of this version; None if no client received one."""
    lasts = [segment["versions"].get(str(version), {}).get("last_answer_unix_ms") for segment in segments]
    return max((at for at in lasts if at is not None), default=None)


def seconds_to_last_answer(since_ms, segments, version):
    """The time from `since_ms` to the version's last answer of any kind to a client; 0 if that answer came earlier.

    Returns None if `since_ms` is None, or if no client ever got an answer of that version.
    """
    last_ms = last_answer_ms(segments, version)
    if since_ms is None or last_ms is None:
        return None
    return max(0, last_ms - since_ms) / 1000


def missing_proof(explained):
    """The line in the output of `longshore explain` about a proof that is missing; None if it is not there or not complete.

    A complete line has the interval of the difference of the error rates, and the time that the proof takes at this traffic.
    """
    line = re.search(r"^ *(Inconclusive \(NotProven\): .* error rate is .* percentage points .* \(95 % confidence\).*"
                     r" at this traffic the proof takes about \d+ .*)$", explained, re.MULTILINE)
    return line[1] if line else None


def failures_of(ledger):
    return ledger["failed"] + ledger["unanswered"] + ledger["answered_twice"]


def has_no_failure(ledger):
    """Whether there were answers to the requests of a whole load, and no request failed."""
    return ledger["answered"] > 0 and failures_of(ledger) == 0


def count_restarts(before, now):
    """How many nodes of `before` (name -> pid) have another pid in `now`, or none. None if there were no nodes."""
    return sum(now.get(name) != pid for name, pid in before.items()) if before else None


def share_of_node(segment, node):
    """The node's share of the answers of the segment, in percent. None if there were no answers."""
    total = sum(segment["nodes"].values())
    return 100 * segment["nodes"].get(node, 0) / total if total else None


def totals(finals, segments, allowed, moves, timeline):
    """The results that all loads together give.

    finals: name of a load -> counts of its whole run. segments: the segments of the load "digits". allowed: the versions that
    may answer in each of them. moves and timeline: see is_move_explained. The counts of wrong answers, failures and retries are
    None if one of the LOADS was not started or got no answers.
    """
    complete = all(name in finals and finals[name]["answered"] > 0 for name in LOADS)
    users = finals.get("users")
    return {
        "requests": sum(final["sent"] for final in finals.values()),
        "failed": sum(map(failures_of, finals.values())) if complete else None,
        "wrong_version": count_wrong(finals, segments, allowed) if complete else None,
        "retried": sum(final["retried"] for final in finals.values()) if complete else None,
        "keyed_keys": users["distinct_keys"] if users else None,
        "keys_moved": len(moves),
        "keys_moved_wrongly": count_unexplained_moves(moves, timeline) if moves else None,
    }


def count_wrong(finals, segments, allowed):
    """Counts the wrong versions of all loads. None if one of them got no answers."""
    counts = [count_wrong_versions(segments, lambda name: allowed.get(name, {1, 2}))]
    counts += [count_wrong_versions({name: finals[name]}, lambda name: LOADS[name]) for name in LOADS if LOADS[name]]
    return None if None in counts else sum(counts)


Limit = collections.namedtuple("Limit", ["name", "text", "is_met"])
LIMITS = [
    Limit("requests", "at least 100,000", lambda n: n >= 100_000),
    Limit("failed", "0", lambda n: n == 0),
    Limit("retried", f"at most {RETRIED_MAX}", lambda n: n <= RETRIED_MAX),
    Limit("wrong_version", "0", lambda n: n == 0),
    Limit("rollback_seconds", "at most 3", lambda n: n <= 3),
    Limit("split_deviation_pp", "at most 0.5", lambda n: n <= 0.5),
    Limit("keyed_deviation_pp", "at most 0.5", lambda n: n <= 0.5),
    Limit("keyed_keys", "at least 100,000", lambda n: n >= KEYS),
    Limit("keys_moved", "at least 1,000", lambda n: n >= 1000),
    Limit("keys_moved_wrongly", "0", lambda n: n == 0),
    Limit("node_restarts", "0", lambda n: n == 0),
    Limit("scaled_out_to", "at least 3", lambda n: n >= 3),
    Limit("new_node_share", "at least 20 %", lambda n: n >= 20),
]


def judge(result):
    """Compares the result with the LIMITS. Returns a list of (what was expected, whether it is met, what was observed)."""
    return [(f"{name}: {text}", result.get(name) is not None and is_met(result[name]), format_number(result.get(name)))
            for name, text, is_met in LIMITS]


def format_number(value):
    if value is None:
        return "not measured"
    return f"{value:,.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"


def parse_moves(text):
    """Parses the lines of --moves_file into (sent_unix_ms, key, from, to)."""
    moves = []
    for line in text.splitlines():
        sent, key, before, after = line.split(",")
        moves.append((int(sent), key, int(before), int(after)))
    return moves


def rollouts_between(timeline, begin_ms, end_ms):
    """The rollouts of the timeline that were current at some time from begin_ms to end_ms."""
    ends = [at for at, _ in timeline[1:]] + [float("inf")]
    return [rollout for (at, rollout), ended in zip(timeline, ends) if at <= end_ms and ended >= begin_ms]


def is_move_explained(move, timeline):
    """Whether the rollout's recorded status explains why this key got another version.

    A key moves to a candidate once the candidate's weight covers the key's bucket, leaves it only after a rollback, and
    moves to a promoted version. `timeline`: (unix_ms, rollout status) in order, one per change.
    """
    sent, key, before, after = move
    for rollout in rollouts_between(timeline, sent - DECREASE_DELAY_MAX_MS, sent + INCREASE_DELAY_MAX_MS):
        if after == rollout["candidate"] and bucket_of(rollout["id"], key) < rollout["weight"] * 100:
            return True
        if after == rollout["stable"] and before != rollout["candidate"]:
            return True
    return any(before == rollout["candidate"] and after == rollout["stable"] and rollout["phase"] == "RolledBack"
               for at, rollout in timeline if at <= sent + DECREASE_DELAY_MAX_MS)


def count_unexplained_moves(moves, timeline):
    return sum(not is_move_explained(move, timeline) for move in moves)
