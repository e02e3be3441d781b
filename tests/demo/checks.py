"""What the ledgers prove: numbers from counts, without any process. The names are those of the JSON report."""

import datetime
import hashlib
import re

# Requests sent while the change of a weight travels to the nodes may see either side.
RISE_SEEN_LATE_MS = 1000
FALL_SEEN_LATE_MS = 3000


def bucket_of(salt, key):
    """Where a key lies in 0..9999, as published in docs/assignment.md."""
    digest = hashlib.sha256(f"{salt}\n{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") * 10000 >> 64


def answers(segment, version, kinds=("keyed", "unkeyed")):
    counts = segment["versions"].get(str(version), {})
    return sum(counts.get(kind, 0) for kind in kinds)


def all_answers(segment, kinds=("keyed", "unkeyed")):
    return sum(answers(segment, version, kinds) for version in segment["versions"])


def split_deviation_pp(segment, candidate, weight_percent, kind):
    """How far the candidate's share of one kind of request is from its weight, in percentage points; None: no requests."""
    total = all_answers(segment, (kind,))
    if total == 0:
        return None
    return abs(100 * answers(segment, candidate, (kind,)) / total - weight_percent)


def wrong_versions(segments, allowed):
    """Answers from a version that had no business in that segment, or that nobody could name."""
    wrong = 0
    for name, segment in segments.items():
        legal = {str(version) for version in allowed(name)}
        wrong += sum(all_answers({"versions": {version: counts}})
                     for version, counts in segment["versions"].items() if version not in legal)
        wrong += segment["version_disputed"]
    return wrong


def first_trip_ms(logs, model, version):
    """When the first node, by the log that each keeps, found an answer of this version not finite; None: none did."""
    found = re.findall(rf'^(\S+) W [^\n]* model "{model}" version {version}: guard NonFinite', "\n".join(logs), re.MULTILINE)
    return min((round(datetime.datetime.fromisoformat(at).timestamp() * 1000) for at in found), default=None)


def last_answer_ms(segments, version):
    """When any client got the last answer of this version; None: nobody got one."""
    lasts = [segment["versions"].get(str(version), {}).get("last_answer_unix_ms") for segment in segments]
    return max((at for at in lasts if at is not None), default=None)


def rollback_seconds(first_ms, segments, version):
    """From a version's first non-finite answer at a node to its last answer of any kind to a client.

    A user gets stable's answer instead of one that is not finite, so it is the nodes that know the first. 0: no client had an
    answer of that version any more; None: there was no such answer.
    """
    last_ms = last_answer_ms(segments, version)
    return None if first_ms is None else max(0, (last_ms or first_ms) - first_ms) / 1000


def not_answered_well(ledger):
    return ledger["failed"] + ledger["unanswered"] + ledger["answered_twice"]


def parse_moves(text):
    """The lines of --moves_file: (sent_unix_ms, key, from, to)."""
    moves = []
    for line in text.splitlines():
        sent, key, before, after = line.split(",")
        moves.append((int(sent), key, int(before), int(after)))
    return moves


def in_force(timeline, begin_ms, end_ms):
    """The entries of the timeline that were the newest at some moment of this stretch."""
    ends = [at for at, _ in timeline[1:]] + [float("inf")]
    return [rollout for (at, rollout), ended in zip(timeline, ends) if at <= end_ms and ended >= begin_ms]


def moved_rightly(move, timeline):
    """Whether what the controller had written down explains that this key changed its version.

    A key comes to a candidate whose weight has reached its bucket, leaves it only after a rollback, and follows a
    promotion. `timeline`: (unix_ms, rollout status) in order, one per change.
    """
    sent, key, before, after = move
    for rollout in in_force(timeline, sent - FALL_SEEN_LATE_MS, sent + RISE_SEEN_LATE_MS):
        if after == rollout["candidate"] and bucket_of(rollout["id"], key) < rollout["weight"] * 100:
            return True
        if after == rollout["stable"] and before != rollout["candidate"]:
            return True
    return any(before == rollout["candidate"] and after == rollout["stable"] and rollout["phase"] == "RolledBack"
               for at, rollout in timeline if at <= sent + FALL_SEEN_LATE_MS)


def keys_moved_wrongly(moves, timeline):
    return sum(not moved_rightly(move, timeline) for move in moves)
