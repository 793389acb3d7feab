import gzip
import time
import tracemalloc

import pytest
import zstandard

from penstock.collector.compression import unpacked
from penstock.collector.refusals import NotJson, TooLarge, Unsupported

LIMIT = 100_000


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", " x-gzip "])
def test_gzip_is_unpacked_also_in_several_members(encoding: str) -> None:
    assert unpacked(gzip.compress(b"one") + gzip.compress(b"two"), encoding, LIMIT) == b"onetwo"


def test_zstd_is_unpacked_also_in_several_frames() -> None:
    assert unpacked(zstandard.compress(b"one") + zstandard.compress(b"two"), "zstd", LIMIT) == b"onetwo"


def test_a_body_of_exactly_the_limit_is_taken() -> None:
    body = b"x" * LIMIT
    assert unpacked(gzip.compress(body), "gzip", LIMIT) == body
    assert unpacked(zstandard.compress(body), "zstd", LIMIT) == body


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_without_being_unpacked(encoding: str) -> None:
    zeros = bytes(200_000_000)
    bomb = gzip.compress(zeros) if encoding == "gzip" else zstandard.compress(zeros)
    del zeros
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            unpacked(bomb, encoding, LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_as_many_parts_as_a_body_may_have_events_are_unpacked(encoding: str) -> None:
    part = gzip.compress(b"one event\n") if encoding == "gzip" else zstandard.compress(b"one event\n")
    assert unpacked(part * 5000, encoding, LIMIT) == b"one event\n" * 5000


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_body_of_very_many_empty_parts_is_refused_soon(encoding: str) -> None:
    part = gzip.compress(b"") if encoding == "gzip" else zstandard.compress(b"")
    began = time.process_time()
    with pytest.raises(NotJson, match="parts"):
        unpacked(part * (4 * 1024 * 1024 // len(part)), encoding, LIMIT)
    assert time.process_time() - began < 1


def test_gzip_is_unpacked_wherever_its_members_end() -> None:
    texts = [bytes([number % 256]) * (number * 37 % 700) for number in range(200)]
    body = b"".join(gzip.compress(text, compresslevel=number % 10) for number, text in enumerate(texts))
    assert unpacked(body, "gzip", LIMIT) == b"".join(texts)


def test_a_zstd_frame_that_asks_for_a_huge_window_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, compression_level=1)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    with pytest.raises(NotJson):
        unpacked(stream.compress(b"x") + stream.flush(), "zstd", LIMIT)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("body", [b"not compressed", b"\x1f\x8b", b""])
def test_what_is_not_compressed_as_it_claims_is_refused(encoding: str, body: bytes) -> None:
    if not body:
        assert unpacked(body, encoding, LIMIT) == b""
        return
    with pytest.raises(NotJson):
        unpacked(body, encoding, LIMIT)


@pytest.mark.parametrize("cut", [1, 5, 10])
def test_a_truncated_body_is_refused(cut: int) -> None:
    text = bytes(range(256)) * 10
    with pytest.raises(NotJson):
        unpacked(gzip.compress(text)[:-cut], "gzip", LIMIT)
    with pytest.raises(NotJson):
        unpacked(zstandard.compress(text)[:-cut], "zstd", LIMIT)


def test_an_unknown_encoding_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(Unsupported) as caught:
        unpacked(b"", "br", LIMIT)
    assert caught.value.headers == {"accept-encoding": "gzip, zstd"}
