"""SCRAM credentials in the format of `StorageTool format`."""

from __future__ import annotations

import base64
import hashlib
import secrets

MECHANISM = "SCRAM-SHA-512"
_ITERATIONS = 4096
_LOGIN_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


def credential(user: str, password: str) -> str:
    """Return a user's value of `--add-scram`. The password is salted, so logs cannot reveal the password."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ITERATIONS)
    texts = f'salt="{_base64(salt)}",saltedpassword="{_base64(salted)}"'
    return f"{MECHANISM}=[name={user},iterations={_ITERATIONS},{texts}]"


def login(user: str, password: str) -> str:
    """Return the `sasl.jaas.config` of Java clients and brokers."""
    return f'{_LOGIN_MODULE} required username="{user}" password="{password}";'


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
