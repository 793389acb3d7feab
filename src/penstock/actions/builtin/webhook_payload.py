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

_LINK = re.compile(
    r"\b(?:[a-z][a-z0-9+.-]*:(?=//)|(?:https?|ftp|file|mailto|tel|sms|data|javascript|slack|msteams):|www\.)\S*"
    r"|\b(?:[\w-]+\.)+[a-z]{2,}(?=[/:?#])\S*",
    re.IGNORECASE,
)
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
    """Return the text with broken URLs: Slack and Teams turn URLs into links even without markup."""
    return _LINK.sub(lambda link: re.sub(r"[:.]", rf"{_BREAK}\g<0>{_BREAK}", link[0]), text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"
