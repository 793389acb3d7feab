"""Second read of all jobs' topics, for `penstock catalog rebuild --from kafka`."""

from __future__ import annotations

from penstock.catalog.database import Database
from penstock.catalog.jobs.reread import active_works, reread
from penstock.cli.jobs_run import workshop
from penstock.cli.output import counted, err, text
from penstock.config import Settings


def reread_topics(database: Database, chosen: Settings) -> None:
    """Read every topic of every active job from its beginning into staging."""
    works = active_works(database, chosen.bootstrap)
    with workshop(database, chosen) as shop:
        for work, counts in reread(database, works, shop.reading_again):
            err.print(f"{text(work.route.topic)}: {counted(counts.read, 'message')} read, {counts.refused:,} refused")
