"""Payloads of webhooks: any shape from a template, or messages for Slack and Teams."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from penstock.actions.expressions import Template, compile_template
from penstock.actions.expressions.scope import Scope

Format = Literal["json", "slack", "teams"]
Payload = Callable[[Scope], Any] | None
"""Builds the payload. None sends the envelope."""

MAX_MESSAGE = 3000
"""Slack and Teams truncate or reject longer messages."""

DEFAULT_TEXT = "{{ event_type }}: {{ event }}"

_WORD = re.compile(r"[^\s\"'<>(),;{}\[\]|]+")
_LINK = re.compile(
    r"//|www\.|@[\w-]+\.|[.。．｡][^\W\d_][\w-]+\.?[/:?#\\]|(?:\d{1,3}\.){3}\d{1,3}[/:?#\\]"  # noqa: RUF001 - dots of URLs
    r"|(?:https?|mailto|javascript):|(?<![a-z0-9])(?:ftp|file|tel|sms|data|slack|msteams):",
    re.IGNORECASE,
)
"""Signs of a link. No repetition can begin inside another, so that a search takes linear time."""

_SEPARATOR = re.compile(r"[:.。．｡]")  # noqa: RUF001 - dots of URLs
_BREAK = "\u2060"
"""Word joiner: invisible, and no client detects a link in the text around it."""

_SLACK_WORDS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKDOWN = re.compile(r"([\\\[\]()*_`<>#!])")


def payload_of(kind: Format, text: str | None, body: Template | None) -> Payload:
    """Return the payload of a format. Only the template can mention people or create links, not an event's values."""
    if kind == "json":
        return body
    shape, escape = (_slack, _slack_escaped) if kind == "slack" else (_teams, _markdown_escaped)
    message = compile_template(text or DEFAULT_TEXT, escape=escape)
    return lambda scope: shape(_cut(str(message(scope))))


def _slack(text: str) -> dict[str, Any]:
    return {"text": text}


def _teams(text: str) -> dict[str, Any]:
    """Return an adaptive card in the envelope accepted by Teams' workflows and incoming webhooks."""
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": text, "wrap": True}],
    }
    return {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }


def _slack_escaped(text: str) -> str:
    return "".join(_SLACK_WORDS.get(character, character) for character in _without_links(text))


def _markdown_escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _without_links(text))


def _without_links(text: str) -> str:
    """Return the text with broken URLs: Slack and Teams turn URLs into links even without markup.

    Only the part that a message can show is returned. The character after it makes `_cut` mark the message as cut.
    """
    return _WORD.sub(lambda word: _broken(word[0]), text[: MAX_MESSAGE + 1])


def _broken(word: str) -> str:
    return _SEPARATOR.sub(rf"{_BREAK}\g<0>{_BREAK}", word) if _LINK.search(word) else word


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"
