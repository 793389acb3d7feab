"""Errors of the catalog: invalid rows and unknown names."""

from __future__ import annotations

from penstock.errors import RecordError, Terminal


class RowRefused(RecordError, ValueError):
    """PostgreSQL or a limit rejects a row. `details["origin"]` names the source message."""

    code = "catalog.row_refused"


class NotInCatalog(Terminal, LookupError):
    """The dataset is not in the catalog."""

    code = "catalog.not_found"


class JobNotFound(Terminal, LookupError):
    """The job is not in the database."""

    code = "jobs.not_found"


class StagingIncomplete(Terminal):
    """Retention has removed rows from staging that a rebuild would need."""

    code = "catalog.staging_incomplete"
