"""Full text over names, tags, owners and fields, the best matches first."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.catalog.database import Connection, records
from penstock.errors import UsageError

CANDIDATES = 2000
"""Words that very many datasets share are ranked among so many of them, so that an answer takes its time no longer."""

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_QUERY = """
WITH wanted AS MATERIALIZED (SELECT to_tsquery('simple', %(query)s) AS words),
candidate AS MATERIALIZED (
    SELECT s.urn, ts_rank_cd(s.words, wanted.words) AS score
    FROM wanted CROSS JOIN LATERAL (
        SELECT urn, words FROM dataset_search WHERE words @@ wanted.words LIMIT %(candidates)s
    ) AS s
)
SELECT d.urn, d.platform, d.name, d.origin, d.status, d.description, c.score,
    ARRAY(SELECT DISTINCT owner FROM dataset_current_owner o WHERE o.urn = d.urn ORDER BY 1) AS owners,
    ARRAY(SELECT DISTINCT tag FROM dataset_tag t WHERE t.urn = d.urn ORDER BY 1) AS tags
FROM candidate c JOIN dataset d USING (urn)
ORDER BY d.status, c.score DESC, length(d.name), d.urn LIMIT %(limit)s
"""


@dataclass(frozen=True)
class Found:
    """A dataset that matches, and how well."""

    urn: str
    platform: str
    name: str
    origin: str
    status: str
    description: str | None
    score: float
    owners: list[str]
    tags: list[str]


def search(connection: Connection, text: str, limit: int = 20) -> list[Found]:
    """The datasets in which every word of the text begins some word; removed ones come last."""
    found = records(connection, _QUERY, {"query": ts_query(text), "limit": limit, "candidates": CANDIDATES})
    return [Found(**row) for row in found]


def ts_query(text: str) -> str:
    """The words of a text as PostgreSQL's query: each may be the beginning of a longer one, and all must be there."""
    words = [word for part in _WORD.findall(text) for word in _HUMP.split(part)]
    if not words:
        raise UsageError(f"{text!r} has no word to search for", hint="give a name, a field, an owner or a tag")
    return " & ".join(f"{word.lower()}:*" for word in words)
