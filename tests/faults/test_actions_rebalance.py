"""Members of an action's group come and go every two seconds: partitions change hands, and nothing is left undone."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.config import Settings
from tests.faults.action_group import ActionGroup, action_group, assert_in_order, repeated, wait_until

EVERY_SECONDS = 2.0
MOST_MEMBERS = 4


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_a_rebalance_storm_loses_repeats_and_reorders_nothing(
    settings: Settings, topic: str, rounds: int, tell: Callable[[str], None], tmp_path: Path
) -> None:
    changes, events = (30 * rounds, 20_000 * rounds) if rounds else (4, 2_000)
    with action_group(settings, tmp_path, topic) as group:
        file = group.write_file(wait=0.005, concurrency=8, buffer=100)
        group.join(file)
        group.send(events // changes)
        wait_until(lambda: bool(group.handled()), "the first member is at work")
        codes = [
            code for number in range(changes) if (code := change(group, file, number, events // changes)) is not None
        ]
        group.wait_for_all()
        handled = group.handled()
    assert_in_order(handled)
    assert not repeated(handled), "what was begun is finished, without a gap, and committed before a partition goes"
    assert set(codes) <= {0, -signal.SIGTERM}, "a member that is asked to end ends well, or has not begun"
    tell(f"{changes} members joined or left, {len(handled):,} events: lost 0, repeated 0, order kept")


def change(group: ActionGroup, file: Path, number: int, events: int) -> int | None:
    """Send some events; a member joins, or one leaves by SIGTERM, whose exit code is given; two seconds pass."""
    began = time.monotonic()
    group.send(events)
    code = None
    if number % 2 == 0 or len(group.members) == MOST_MEMBERS:
        group.join(file)
    if number % 2 == 1 or len(group.members) > MOST_MEMBERS:
        leaver = group.members.pop(0)
        leaver.send_signal(signal.SIGTERM)
        code = leaver.wait(60)
    time.sleep(max(0.0, EVERY_SECONDS - (time.monotonic() - began)))
    return code
