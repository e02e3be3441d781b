"""Computes the demo's results from the counts of the load generators. Pure; the names are those of the JSON report."""

import datetime
import hashlib
import re

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
    """Counts the answers from a version that is not in `allowed(segment name)`, and those whose version is disputed."""
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


def rollback_seconds(first_ms, segments, version):
    """The time from a version's first non-finite answer at a node to its last answer of any kind to a client.

    The first time comes from the logs of the nodes, because users get the stable version's answer instead of a non-finite
    one. Returns 0 if no client got an answer of that version afterwards, and None if there was no non-finite answer.
    """
    last_ms = last_answer_ms(segments, version)
    return None if first_ms is None else max(0, (last_ms or first_ms) - first_ms) / 1000


def failures_of(ledger):
    return ledger["failed"] + ledger["unanswered"] + ledger["answered_twice"]


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
