from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from penstock.pipelines.verify import buckets
from penstock.pipelines.verify.buckets import COUNT, NONE, SIZE, Buckets


def checksum(number: int) -> bytes:
    return blake2b(str(number).encode(), digest_size=SIZE).digest()


def test_every_pair_comes_back_from_the_bucket_of_its_key(tmp_path: Path) -> None:
    kept, rows = Buckets(tmp_path), 300_000
    for number in range(rows):
        kept.add(checksum(number), checksum(-number))
    in_memory = sum(len(held) for held in kept._held.values())
    assert in_memory < COUNT * buckets._HELD_BYTES
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) == rows * 2 * SIZE - in_memory > 0
    found = {pair for bucket in range(COUNT) for pair in kept.pairs(bucket)}
    assert found == {(checksum(number), checksum(-number)) for number in range(rows)}
    assert kept.rows == rows


def test_a_key_that_comes_twice_is_there_twice(tmp_path: Path) -> None:
    kept = Buckets(tmp_path)
    kept.add(checksum(1), checksum(2))
    kept.add(checksum(1), NONE)
    assert list(kept.pairs(checksum(1)[0])) == [(checksum(1), checksum(2)), (checksum(1), NONE)]
