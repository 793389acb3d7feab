"""Members of an action's group die by -9 at random moments: every event is done, in order, and little is repeated."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.config import Settings
from tests.faults.action_group import ActionGroup, Place, action_group, assert_in_order, repeated, wait_until

MEMBERS = 3
CONCURRENCY = 8
BUFFER = 100
COMMIT_EVERY = 50
LONGEST_WAIT = 1.0
LAST_REQUESTS_SECONDS = 0.5
"""What the dead member had sent reaches broker and database, long before its session ends."""


@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_kills_lose_no_event_keep_the_order_and_repeat_only_what_was_in_work(
    settings: Settings, topic: str, rounds: int, tell: Callable[[str], None], tmp_path: Path
) -> None:
    kills, events = (30 * rounds, 20_000 * rounds) if rounds else (3, 1_500)
    with action_group(settings, tmp_path, topic) as group:
        file = group.write_file(
            wait=0.005,
            source={"commit": "sync", "commit_every": COMMIT_EVERY},
            concurrency=CONCURRENCY,
            buffer=BUFFER,
        )
        for _ in range(MEMBERS):
            group.join(file)
        open_ends = [kill_one(group, file, events // kills) for _ in range(kills)]
        group.wait_for_all()
        handled = group.handled()
    in_work: set[Place] = set().union(*open_ends)
    assert_in_order(handled)
    assert repeated(handled) <= in_work, "what was committed is not done again"
    most = max(map(len, open_ends))
    assert most <= MEMBERS * (BUFFER + COMMIT_EVERY), "no more is uncommitted than members may hold"
    tell(
        f"killed {kills} times with -9, {events:,} events: lost 0, repeated {len(repeated(handled))}"
        f" of {len(in_work)} that were not committed when a member died, order kept"
    )


def kill_one(group: ActionGroup, file: Path, events: int) -> set[Place]:
    """Send some events, kill a member at a random moment and put another in its place; what was uncommitted then."""
    done = len(group.handled())
    group.send(events)
    wait_until(lambda: len(group.handled()) > done, "the members are at work")
    time.sleep(random.uniform(0.0, LONGEST_WAIT))  # noqa: S311 - no secret
    victim = random.choice(group.members)  # noqa: S311 - as above
    victim.kill()
    victim.wait()
    group.members.remove(victim)
    time.sleep(LAST_REQUESTS_SECONDS)
    open_ends = group.uncommitted()
    group.join(file)
    return open_ends
