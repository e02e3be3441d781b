"""An independent router that computes the version of a keyed request. It was written only from docs/assignment.md.

    bucket    = u * 10000 // 2**64,  u = the first 8 bytes, big endian, of SHA-256(salt + "\\n" + key)
    candidate = bucket < weight of the candidate in hundredths of a percent

`python3 tests/judge/router_reference.py` writes assignment_vectors.json, which the C++ test of routing reads too.
"""

import hashlib
import json
import pathlib

BUCKETS = 10000
VECTORS = pathlib.Path(__file__).with_name("assignment_vectors.json")


def bucket_of_key(salt: str, key: str) -> int:
    digest = hashlib.sha256(f"{salt}\n{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") * BUCKETS // 2**64


def gets_candidate(salt: str, key: str, weight_bp: int) -> bool:
    return bucket_of_key(salt, key) < weight_bp


def owner_of_key(salt: str, key: str, shares: list[tuple[int, int]]) -> int | None:
    """Returns the version of a key. `shares`: (version, weight in hundredths of a percent), candidates first, stable last.

    Returns None if the weights do not cover the bucket of the key."""
    bucket = bucket_of_key(salt, key)
    for version, weight_bp in shares:
        if bucket < weight_bp:
            return version
        bucket -= weight_bp
    return None


def vectors() -> list[dict]:
    """Returns buckets of ordinary keys and of error-prone ones: empty, with spaces, newlines or UTF-8, long."""
    awkward = [("", ""), ("", "alice"), ("digits/2/1", ""), ("a", "b\nc"), ("a\nb", "c"), ("s", "caf\u00e9"),
               ("s", "cafe\u0301"), ("s", "\U0001f6a2"), ("s", " alice "), ("s", "ALICE"), ("s", "k" * 300),
               ("\u00e9\u00df", "key"), ("s", "%20"), ("s", "00000000-0000-0000-0000-000000000000")]
    plain = [(salt, f"user-{i}") for salt in ("digits/2/1", "digits/2/2", "mnist/17/1") for i in range(12)]
    return [{"salt": salt, "key": key, "bucket": bucket_of_key(salt, key)} for salt, key in awkward + plain]


def main() -> None:
    rows = ",\n".join("  " + json.dumps(row) for row in vectors())
    VECTORS.write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main()
