"""Which columns a file protects, and what is wrong with a file that does it badly."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from penstock.config.yaml_file import read_yaml
from penstock.connect.postgres import TableName
from penstock.connect.snapshot import SourceColumn
from penstock.errors import UsageError
from penstock.pipelines.mirrors import declared_mirror
from penstock.pipelines.protect import ProtectConfig, Protection
from penstock.pipelines.sinks.base import SourceTable
from penstock.pipelines.source import KafkaSourceConfig
from penstock.pipelines.verify.guard import OPEN, Guard

SECRET = "a secret of the tests"
CONFIG = ProtectConfig.model_validate(
    {
        "drop": ["*.password"],
        "mask": ["customers.phone", "public.customers.note*", "customers.first_*"],
        "hash": ["customers.email", "customers.phone", "other.customers.name"],
        "secret": SECRET,
    }
)
CUSTOMERS = Protection(CONFIG, SourceTable("public", "customers"))


@pytest.mark.parametrize(
    ("column", "treatment"),
    [
        ("password", "drop"),
        ("phone", "mask"),
        ("notes", "mask"),
        ("email", "hash"),
        ("name", None),
        ("email_of_a_friend", None),
        ("first name", "mask"),
        ("Email", "hash"),
    ],
)
def test_a_column_is_treated_by_the_strictest_rule_that_names_it(column: str, treatment: str | None) -> None:
    assert CUSTOMERS.treatment(column) == treatment


def test_rules_of_another_table_are_not_for_this_one() -> None:
    orders = Protection(CONFIG, SourceTable("public", "orders"))
    assert [orders.treatment(name) for name in ("password", "email")] == ["drop", None]


def test_columns_named_in_full_that_a_table_lacks_are_told_with_their_place() -> None:
    assert list(CUSTOMERS.unknown(["id", "mail", "Phone"])) == [(("hash", 0), "email")]


def test_a_hash_is_keyed_by_the_secret_which_is_not_shown() -> None:
    expected = hmac.new(SECRET.encode(), b"ada@example.org", hashlib.sha256).hexdigest()
    assert CUSTOMERS.hashed("ada@example.org") == expected
    assert SECRET not in repr(CONFIG)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"hash": ["t.email"]}, "hash needs a secret of 16 characters or more"),
        ({"hash": ["t.email"], "secret": "short"}, "at least 16"),
        ({"drop": ["email"]}, "'email' is not a column, written table.column"),
    ],
)
def test_a_rule_that_could_not_work_is_refused(given: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        ProtectConfig.model_validate(given)


def test_only_changes_are_protected_in_this_way() -> None:
    with pytest.raises(ValidationError, match="protect is for format debezium"):
        KafkaSourceConfig.model_validate({"topic": "t", "format": "raw", "protect": {"drop": ["t.a"]}})


def test_a_guard_says_why_a_column_is_not_compared() -> None:
    guard = Guard(CUSTOMERS.treatment, CUSTOMERS.hashed)
    reasons = {name: guard.reason_against(SourceColumn(name, "text", False, False)) for name in ("password", "email")}
    assert reasons == {"password": "left out by the pipeline", "email": ""}
    assert guard.reason_against(SourceColumn("email", "float8", False, False)) == "float8, hashed by the pipeline"
    assert OPEN.reason_against(SourceColumn("words", "tsvector", False, False)) == "tsvector"


def test_a_file_tells_where_its_mirrors_are_and_what_they_hide(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    source = {"pattern": "shop[.]public", "format": "debezium", "protect": {"drop": ["orders.note"]}}
    sinks = [
        {"type": "lake", "config": {"table": "log/{table}", "mode": "log"}},
        {"type": "lake", "config": {"table": "{schema}/{table}", "mode": "mirror"}},
    ]
    path.write_text(yaml.safe_dump({"name": "shop", "source": {"type": "kafka", "config": source}, "sinks": sinks}))
    mirror = declared_mirror(read_yaml(path, {})).of(TableName("public", "orders"))
    assert (mirror.name, mirror.lake, mirror.guard.treatment("note")) == ("public/orders", None, "drop")
    path.write_text(yaml.safe_dump({"name": "shop", "source": {"type": "kafka", "config": source}, "sinks": sinks[:1]}))
    with pytest.raises(UsageError, match="has no sink of mode mirror"):
        declared_mirror(read_yaml(path, {}))
