"""A POST as it arrives."""

from __future__ import annotations

import msgspec
from starlette.types import Receive

from penstock.collector.body import Headers


class Post(msgspec.Struct, frozen=True, gc=False):
    """Where a POST's path leads, what its head says, who sends it, and its body unread."""

    topic: str
    headers: Headers
    address: str
    receive: Receive

    def header(self, name: bytes) -> str:
        """A header's text, or an empty one."""
        return self.headers.get(name, b"").decode("latin-1")
