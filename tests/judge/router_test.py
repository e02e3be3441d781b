"""The reference router has the properties in docs/assignment.md, and the published vectors are its answers."""

import json

import router_reference as router


def test_the_published_vectors_are_those_of_the_reference_router():
    assert json.loads(router.VECTORS.read_text()) == router.vectors()


def test_a_bucket_agrees_with_the_digest_of_sha256sum():
    # sha256sum computes a digest of "salt\nkey" that begins with 0x4196e2e8350b2358.
    assert router.bucket_of_key("salt", "key") == 0x4196e2e8350b2358 * 10000 >> 64


def test_keys_of_the_candidate_keep_it_when_its_weight_grows():
    keys = [f"user-{i}" for i in range(2000)]
    had = set()
    for weight_bp in (1, 100, 500, 2500, 5000, 9999, 10000):
        has = {key for key in keys if router.gets_candidate("digits/2/1", key, weight_bp)}
        assert had <= has
        had = has
    assert had == set(keys)


def test_the_share_of_keys_is_close_to_the_weight():
    # For 20,000 keys at 5 %, the mean is 1000 and the standard deviation 31.
    has = sum(router.gets_candidate("digits/2/1", f"user-{i}", 500) for i in range(20000))
    assert abs(has - 1000) < 5 * 31


def test_a_new_salt_assigns_keys_independently():
    keys = [f"user-{i}" for i in range(2000)]
    first = {key for key in keys if router.gets_candidate("digits/2/1", key, 5000)}
    second = {key for key in keys if router.gets_candidate("digits/2/2", key, 5000)}
    assert 350 < len(first & second) < 650


def test_shares_are_consecutive_ranges():
    shares = [(3, 500), (2, 9500)]
    for i in range(500):
        key = f"user-{i}"
        owner = router.owner_of_key("s", key, shares)
        assert owner == (3 if router.gets_candidate("s", key, 500) else 2)
    assert router.owner_of_key("s", "user-1", []) is None
