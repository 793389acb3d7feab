"""`webhook`: send every event to a URL, unchanged or as a message for Slack or Teams."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from penstock.actions.action import Action
from penstock.actions.builtin.webhook_http import WebhookHttp, check_url, signature
from penstock.actions.builtin.webhook_payload import Format, Payload, payload_of
from penstock.actions.context import PipelineContext
from penstock.actions.expressions import scope_of
from penstock.actions.expressions.field import TemplateField, TemplateText
from penstock.actions.origin import origin_of
from penstock.config.http_header import header_value_problem
from penstock.events.envelope import EventEnvelope

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
RESERVED = frozenset({"content-type", "content-length", "host", "transfer-encoding"})


def _checked_url(url: SecretStr) -> SecretStr:
    check_url(url.get_secret_value())
    return url


def _checked_header(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a header")
    if name.lower() in RESERVED:
        raise ValueError(f"{name} is set by the action itself")
    return name


def _checked_value(value: SecretStr) -> SecretStr:
    if problem := header_value_problem(value.get_secret_value()):
        raise ValueError(f"the value {problem}")
    return value


def _readable_pem(path: Path) -> Path:
    try:
        ssl.create_default_context(cafile=str(path))
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"{path} is not a readable PEM file: {error}") from None
    return path


def _ascii(name: str) -> str:
    """Return the name as a header value. Characters not allowed in headers become question marks."""
    return "".join(character if " " <= character <= "~" else "?" for character in name).strip()


HeaderName = Annotated[str, AfterValidator(_checked_header)]
HeaderValue = Annotated[SecretStr, AfterValidator(_checked_value)]


class WebhookConfig(BaseModel):
    """Target URL and payload."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: Annotated[SecretStr, AfterValidator(_checked_url)] = Field(description="http or https; never shown whole")
    method: Literal["POST", "PUT"] = Field("POST", description="or PUT")
    format: Format = Field("json", description="json (the envelope), slack or teams")
    text: TemplateText | None = Field(
        None, max_length=10_000, description="a template: the message for slack and teams"
    )
    body: TemplateField | None = Field(None, description="a template of any shape, sent as JSON instead")
    headers: dict[HeaderName, HeaderValue] = Field(
        default_factory=dict, description="further headers, whose values are never shown"
    )
    secret: SecretStr | None = Field(None, description="signs each request: header X-Penstock-Signature")
    timeout: float = Field(10.0, gt=0, le=300, description="seconds for the whole request")
    ca: Annotated[Path, AfterValidator(_readable_pem)] | None = Field(None, description="PEM file to trust")
    proxy: SecretStr | None = Field(None, description="http://host:port; variables such as HTTPS_PROXY are not read")

    @model_validator(mode="after")
    def _one_payload(self) -> Self:
        if self.body is not None and (self.text is not None or self.format != "json"):
            raise ValueError("body stands alone: without text, and without format slack or teams")
        if self.text is not None and self.format == "json":
            raise ValueError("text needs format: slack or teams")
        return self


class Webhook(Action):
    """Sends each event. Any 2xx answer means done.

    408, 425, 429 and 5xx answers and broken connections are Transient, with the pause requested by Retry-After. Any
    other answer is TargetRefused. Redirects are not followed, and no part of the address comes from an event.
    """

    Config: ClassVar[type[BaseModel]] = WebhookConfig

    def __init__(self, config: WebhookConfig, pipeline: str) -> None:
        self._pipeline = pipeline
        self._payload: Payload = payload_of(config.format, config.text, config.body)
        self._secret = config.secret
        headers = {name: value.get_secret_value() for name, value in config.headers.items()}
        self._http = WebhookHttp(
            config.method,
            config.url.get_secret_value(),
            headers,
            timeout=config.timeout,
            ca=config.ca,
            proxy=config.proxy.get_secret_value() if config.proxy else None,
        )

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """Create the action from `config`."""
        return cls(WebhookConfig.model_validate(config), ctx.pipeline_name)

    def act(self, event: EventEnvelope) -> None:
        """Send one event."""
        made = self._payload(scope_of(event)) if self._payload else None
        body = event.as_json().encode() if made is None else msgspec.json.encode(made)
        self._http.send(body, self._headers(event, body))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _headers(self, event: EventEnvelope, body: bytes) -> dict[str, str]:
        headers = {"X-Penstock-Pipeline": _ascii(self._pipeline)}
        if origin := origin_of(event):
            headers["X-Penstock-Origin"] = _ascii(origin)
        if self._secret is not None:
            headers["X-Penstock-Signature"] = signature(self._secret.get_secret_value(), body)
        return headers
