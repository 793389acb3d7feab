from __future__ import annotations

from typing import Any, cast

import pyarrow as pa

from penstock.catalog.staging.copying import Lines
from penstock.events.record import Offset, Origin, Partition, TopicName


class Copied(list[bytes]):
    """Takes what is written, as psycopg's Copy does."""

    def write(self, data: bytes) -> None:
        self.append(data)


def lines(*chunks: list[str]) -> Lines:
    count = sum(map(len, chunks))
    place = {"topic": ["t"] * count, "partition": [1] * count, "offset": list(range(count))}
    return Lines(("a",), pa.table({**place, "line": pa.chunked_array(chunks, pa.string())}))


def written(rows: Lines) -> bytes:
    copied = Copied()
    rows.write(cast("Any", copied))
    return b"".join(copied)


def test_lines_are_written_behind_each_other_from_whatever_part() -> None:
    rows = lines(["one\n", "zwölf\n"], [], ["three\n", "\n", "five\n"])
    assert written(rows) == "one\nzwölf\nthree\n\nfive\n".encode()
    assert written(rows.part(1, 4)) == "zwölf\nthree\n\n".encode()
    assert written(rows.part(1, 4).part(1, 2)) == b"three\n"
    assert written(lines()) == b""


def test_a_line_is_named_by_the_message_that_it_comes_from() -> None:
    rows = lines(["one\n", "two\n", "three\n"])
    assert rows.part(2, 3).first().origin == Origin(TopicName("t"), Partition(1), Offset(2))
    assert (len(rows), len(rows.part(1, 3))) == (3, 2)
