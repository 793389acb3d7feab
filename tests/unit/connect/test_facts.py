from __future__ import annotations

from dataclasses import replace

from penstock.connect.facts import ReplicaIdentity, ServerFacts, TableFacts, Wanted, findings

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
