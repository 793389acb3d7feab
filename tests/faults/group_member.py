"""One member of a group, as a process that can be killed: notes what it gets and what it has processed.

Arguments: the topic, which is the group's name as well, and the file for the notes, a line each:
`assigned <number of partitions>` and `<partition> <offset>`.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from penstock import Consumer

BATCH = 100
WORK_SECONDS = 0.04
COMMIT_SECONDS = 1.0
QUICK = {"session.timeout.ms": 6000}


def main(topic: str, notes: str) -> None:
    """Read until SIGTERM; a note is on the disk's side of a kill as soon as it is written."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    file = os.open(notes, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def note(*lines: str) -> None:
        os.write(file, "".join(f"{line}\n" for line in lines).encode())

    with Consumer(
        topic,
        topic,
        commit="sync",
        every=COMMIT_SECONDS,
        options=QUICK,
        on_assigned=lambda partitions: note(f"assigned {len(partitions)}"),
    ) as consumer:
        for batch in consumer.batches(BATCH):
            time.sleep(WORK_SECONDS)
            note(*(f"{record.partition} {record.offset}" for record in batch))


if __name__ == "__main__":
    main(*sys.argv[1:])
