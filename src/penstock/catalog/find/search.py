"""Full-text search over names, tags, owners and fields, best matches first."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.catalog.database import Connection, records
from penstock.errors import UsageError

CANDIDATES = 2000
"""Limit of ranked candidates. Bounds the time of a search for words that very many datasets share."""

BEGINNING = ":*"
"""PostgreSQL's suffix for a prefix match."""

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# The words are part of the condition, so that the planner knows how common they are. For rare words, the planner uses
# the index. For words of a large part of the catalog, it reads the table until it has enough candidates.
_QUERY = """
WITH best AS MATERIALIZED (
    SELECT urn, ts_rank_cd(words, to_tsquery('simple', %(query)s)) AS score
    FROM (SELECT * FROM dataset_search WHERE words @@ to_tsquery('simple', %(query)s) LIMIT %(candidates)s) AS candidate
    ORDER BY score DESC, length(urn), urn LIMIT 5 * %(limit)s
)
SELECT d.urn, d.platform, d.name, d.origin, d.status, d.description, best.score,
    ARRAY(SELECT DISTINCT owner FROM dataset_current_owner o WHERE o.urn = d.urn ORDER BY 1) AS owners,
    ARRAY(SELECT DISTINCT tag FROM dataset_tag t WHERE t.urn = d.urn ORDER BY 1) AS tags
FROM best JOIN dataset d USING (urn)
ORDER BY d.status, best.score DESC, length(d.urn), d.urn LIMIT %(limit)s
"""


@dataclass(frozen=True)
class Found:
    """Matching dataset with its score."""

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
    """Return the datasets that match every word of the text, removed datasets last.

    Matches whole words first, then the last word as a prefix, and if nothing is found, every word as a prefix.
    """
    words = words_in(text)
    found: dict[str, Found] = {}
    for query in _queries(words):
        found |= {item.urn: item for item in _found(connection, query, limit) if item.urn not in found}
        if len(found) >= limit or (found and query.endswith(BEGINNING)):
            break
    return sorted(found.values(), key=lambda item: item.status != "active")[:limit]


def words_in(text: str) -> list[str]:
    """Return the words to search for, split at camel case. Raise UsageError if there are none."""
    words = [word.lower() for part in _WORD.findall(text) for word in _HUMP.split(part)]
    if not words:
        raise UsageError(f"{text!r} has no word to search for", hint="give a name, a field, an owner or a tag")
    return words


def _queries(words: list[str]) -> list[str]:
    """Return the queries in the order to try. Prefixes of common words are the most expensive and come last."""
    joined = " & ".join(words)
    return [joined, f"{joined}{BEGINNING}", " & ".join(f"{word}{BEGINNING}" for word in words)]


def _found(connection: Connection, query: str, limit: int) -> list[Found]:
    rows = records(connection, _QUERY, {"query": query, "limit": limit, "candidates": CANDIDATES})
    return [Found(**row) for row in rows]
