from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.connect.facts import (
    Partition,
    ReplicaIdentity,
    ServerFacts,
    TableFacts,
    Wanted,
    clash_findings,
    findings,
)

SERVER = ServerFacts(
    wal_level="logical",
    role="app",
    database="shop",
    may_replicate=True,
    may_create=True,
    may_see_lag=True,
    slots=2,
    slots_used=["one"],
    slots_idle=["one"],
    senders=2,
    senders_used=1,
    publications=[],
)
ORDERS = TableFacts("public", "orders", ReplicaIdentity.DEFAULT, has_key=True, is_own=True, may_read=True)


def found(server: ServerFacts = SERVER, *tables: TableFacts) -> dict[str, str]:
    return {each.message: each.sql for each in findings(server, Wanted("slot", "publication", tables or (ORDERS,)))}


def test_a_fit_database_has_nothing_to_mend() -> None:
    assert found() == {}


def test_a_log_without_rows_and_a_role_without_rights_are_found() -> None:
    assert found(replace(SERVER, wal_level="replica", may_replicate=False)) == {
        "wal_level is replica, so that the log has no changes of rows": (
            "ALTER SYSTEM SET wal_level = logical;  -- then restart the server"
        ),
        "app may not replicate": 'ALTER ROLE "app" REPLICATION;',
    }


def test_slots_and_senders_must_be_free_unless_the_slot_is_there_already() -> None:
    full = replace(SERVER, slots_used=["one", "two"], senders_used=2)
    assert list(found(full)) == ["all 2 replication slots are taken", "all 2 WAL senders are at work"]
    assert "SELECT pg_drop_replication_slot('one');" in found(full)["all 2 replication slots are taken"]
    assert found(replace(full, slots_used=["one", "slot"])) == {}


def test_a_publication_needs_an_owner_unless_somebody_made_it() -> None:
    foreign = replace(ORDERS, is_own=False)
    [(message, sql)] = found(SERVER, foreign).items()
    assert message == 'app does not own "public"."orders", so it cannot make the publication publication in shop'
    assert sql == 'CREATE PUBLICATION "publication" FOR TABLE "public"."orders";  -- as owner of the tables'
    assert found(replace(SERVER, publications=["publication"]), foreign) == {}


def test_tables_whose_changes_have_no_identity_stand_in_the_way() -> None:
    keyless = replace(ORDERS, has_key=False)
    nothing = replace(ORDERS, identity=ReplicaIdentity.NOTHING)
    assert list(found(SERVER, keyless).values()) == ['ALTER TABLE "public"."orders" REPLICA IDENTITY FULL;']
    assert list(found(SERVER, nothing).values()) == ['ALTER TABLE "public"."orders" REPLICA IDENTITY DEFAULT;']


def test_a_table_without_a_key_but_with_full_identity_is_only_noted() -> None:
    noted = replace(ORDERS, has_key=False, identity=ReplicaIdentity.FULL)
    assert [each.fatal for each in findings(SERVER, Wanted("slot", "publication", [noted]))] == [False]


def test_names_are_quoted_in_the_sql() -> None:
    odd = replace(ORDERS, name='or"der', may_read=False)
    assert any('"public"."or""der"' in sql for sql in found(SERVER, odd).values())


def test_an_index_as_identity_beside_a_primary_key_stands_in_the_way() -> None:
    by_index = replace(ORDERS, identity=ReplicaIdentity.INDEX)
    [(message, sql)] = found(SERVER, by_index).items()
    assert message.startswith("public.orders has REPLICA IDENTITY USING INDEX beside its primary key")
    assert sql == 'ALTER TABLE "public"."orders" REPLICA IDENTITY DEFAULT;'
    assert found(SERVER, replace(by_index, index_is_key=True)) == {}


def test_a_partition_has_an_identity_of_its_own() -> None:
    bare = Partition("public", "orders_1", ReplicaIdentity.NOTHING, has_key=True)
    table = replace(ORDERS, partitions=(bare, replace(bare, name="orders_2", identity=ReplicaIdentity.FULL)))
    fatal = [each for each in findings(SERVER, Wanted("slot", "publication", [table])) if each.fatal]
    assert [each.sql for each in fatal] == ['ALTER TABLE "public"."orders_1" REPLICA IDENTITY DEFAULT;']


def test_what_postgresql_does_not_send_is_noted() -> None:
    partition = Partition("public", "orders_1", ReplicaIdentity.DEFAULT, has_key=True)
    odd = replace(ORDERS, generated=("total",), children=("public.old_orders",), partitions=(partition,))
    notes = findings(SERVER, Wanted("slot", "publication", [odd]))
    assert [each.fatal for each in notes] == [False] * 3
    assert "generated columns (total)" in notes[0].message
    assert "--set column.exclude.list=public.orders.total" in notes[0].sql
    assert "public.orders is partitioned" in notes[1].message
    assert "child tables (public.old_orders) by INHERITS" in notes[2].message


def test_a_key_that_is_not_sent_stands_in_the_way() -> None:
    [note] = findings(
        SERVER, Wanted("slot", "publication", [replace(ORDERS, generated=("id",), generated_key=("id",))])
    )
    assert note.fatal
    assert "generated columns in its primary key (id)" in note.message


@pytest.mark.parametrize(
    ("one", "other"),
    [(("public", "a b"), ("public", "a_b")), (("public", "a.b"), ("public", "a_b")), (("x", "y.z"), ("x.y", "z"))],
)
def test_two_tables_of_one_topic_are_refused_by_their_names(one: tuple[str, str], other: tuple[str, str]) -> None:
    tables = [replace(ORDERS, schema=schema, name=name) for schema, name in (one, other)]
    [clash] = clash_findings("shop", tables)
    assert clash.fatal
    assert clash.message.startswith(f"{'.'.join(one)} and {'.'.join(other)} have the same Kafka topic, shop.")


def test_tables_with_topics_of_their_own_do_not_clash() -> None:
    assert clash_findings("shop", [ORDERS, replace(ORDERS, name="Orders"), replace(ORDERS, schema="other")]) == []
