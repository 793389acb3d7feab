"""What can be wrong with one row, or with a name that somebody asks for."""

from __future__ import annotations

from penstock.errors import RecordError, Terminal


class RowRefused(RecordError, ValueError):
    """PostgreSQL, or a limit, does not take a row; `details["origin"]` names the message it comes from."""

    code = "catalog.row_refused"


class NotInCatalog(Terminal, LookupError):
    """The catalog has no such dataset."""

    code = "catalog.not_found"


class JobNotFound(Terminal, LookupError):
    """The database has no such job."""

    code = "jobs.not_found"


class StagingIncomplete(Terminal):
    """Retention has removed rows from staging that a rebuild would need."""

    code = "catalog.staging_incomplete"
