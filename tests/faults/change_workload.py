"""A random workload on a database of three tables and two dozen types, its choices repeatable from its seed.

Transactions insert, update and delete, change keys, truncate, touch several tables, and change columns. A server that
is away is waited for; a transaction that was cut off may or may not be there, and whoever looks asks the database.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Self

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

Work = Callable[[psycopg.Connection[Any]], None]

TABLES = ("things", "orders", "notes")
SCHEMA = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
    """CREATE TABLE things (
       id int PRIMARY KEY, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, money numeric(12, 3), number numeric,
       flag bool, words text, short varchar(40), fixed char(5), raw bytea, day date, hour time, moment timestamp,
       instant timestamptz, code uuid, doc json, docb jsonb, feeling mood, tags text[], counts int[], span interval,
       address inet)""",
    "CREATE TABLE orders (customer int, number int, total numeric(10, 2), note text, PRIMARY KEY (customer, number))",
    "CREATE TABLE notes (id uuid PRIMARY KEY, body text, seen int)",
    "INSERT INTO things (id, words) SELECT n, 'thing ' || n FROM generate_series(1, 20) n",
)
_IDS = 60
_CUSTOMERS = 8
_LARGE = 4_000
_PAUSE = 0.02
_ALTER_SECONDS = 10
"""How often columns change: still far more often than in life."""


class Workload:
    """Works on a database from a thread of its own until the block ends; `done` counts what it did.

    Without `rewrites`, no column changes its type: PostgreSQL 18.4 cannot always decode a table that was rewritten
    while its log had no reader (docs/cdc.md), and a short run is not about that.
    """

    def __init__(self, url: str, seed: int, *, rewrites: bool = True) -> None:
        self.done: Counter[str] = Counter()
        self.failure: BaseException | None = None
        self._url = url
        self._rewrites = rewrites
        self._random = random.Random(seed)  # noqa: S311 - any work will do, as long as it can be repeated
        self._columns = 0
        self._next_alter = 0.0
        self._added: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _work(self) -> None:
        try:
            while not self._ended.is_set():
                try:
                    with psycopg.connect(self._url, connect_timeout=5) as connection:
                        self._go_on(connection)
                except (psycopg.OperationalError, psycopg.InterfaceError):
                    time.sleep(0.2)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test has to see it
            self.failure = error

    def _go_on(self, connection: psycopg.Connection[Any]) -> None:
        kinds, weights = zip(*self._kinds(), strict=True)
        while not self._ended.wait(_PAUSE):
            alters = self._is_time()
            kind = self._random.choice(self._alterations()) if alters else self._random.choices(kinds, weights)[0]
            with connection.transaction():
                kind(connection)
            self.done[kind.__name__.strip("_")] += 1

    def _is_time(self) -> bool:
        """Whether the columns are to change again."""
        now = time.monotonic()
        if now < self._next_alter:
            return False
        self._next_alter = now + _ALTER_SECONDS
        return True

    def _alterations(self) -> list[Work]:
        light = [self._add_column, self._add_column, self._drop_column, self._rename_column]
        return [*light, self._widen, self._change_type] if self._rewrites else light

    def _kinds(self) -> list[tuple[Work, int]]:
        return [
            (self._insert, 30),
            (self._update, 30),
            (self._delete, 10),
            (self._change_key, 4),
            (self._several_tables, 10),
            (self._large_value, 6),
            (self._truncate, 1),
        ]

    def _insert(self, connection: psycopg.Connection[Any]) -> None:
        row = self._thing()
        names = sql.SQL(", ").join(map(sql.Identifier, row))
        updates = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in row)
        values = sql.SQL(", ").join(sql.Placeholder() * len(row))
        statement = sql.SQL("INSERT INTO things ({}) VALUES ({}) ON CONFLICT (id) DO UPDATE SET {}")
        connection.execute(statement.format(names, values, updates), list(row.values()))

    def _update(self, connection: psycopg.Connection[Any]) -> None:
        row = self._thing()
        names = self._random.sample([name for name in row if name != "id"], 3)
        sets = sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(name)) for name in names)
        values = [*(row[name] for name in names), row["id"]]
        connection.execute(sql.SQL("UPDATE things SET {} WHERE id = %s").format(sets), values)

    def _delete(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute("DELETE FROM things WHERE id = %s", [self._id()])
        connection.execute("DELETE FROM orders WHERE customer = %s", [self._random.randrange(_CUSTOMERS)])

    def _change_key(self, connection: psycopg.Connection[Any]) -> None:
        free = "NOT EXISTS (SELECT 1 FROM things WHERE id = %(new)s)"
        ids = {"old": self._id(), "new": self._id()}
        connection.execute(f"UPDATE things SET id = %(new)s WHERE id = %(old)s AND {free}", ids)  # noqa: S608 - a constant

    def _several_tables(self, connection: psycopg.Connection[Any]) -> None:
        customer = self._random.randrange(_CUSTOMERS)
        statement = """INSERT INTO orders VALUES (%s, %s, %s, %s)
                       ON CONFLICT (customer, number) DO UPDATE SET total = excluded.total, note = excluded.note"""
        for _ in range(self._random.randint(1, 4)):
            connection.execute(statement, [customer, self._random.randrange(20), self._decimal(8, 2), self._text()])
        connection.execute("INSERT INTO notes VALUES (%s, %s, 0)", [uuid.UUID(int=self._bits(128)), self._text()])
        self._update(connection)

    def _large_value(self, connection: psycopg.Connection[Any]) -> None:
        """A value that is stored apart, and a change that leaves it as it is, so that it is not sent again.

        Not in the table whose columns change types: PostgreSQL 18.4 cannot decode values that are stored apart once a
        reader of the log starts anew after the table was rewritten ("could not open toast relation").
        """
        large = "".join(self._random.choices("abcdefgh0123456789", k=_LARGE))
        connection.execute("UPDATE notes SET body = %s WHERE id IN (SELECT id FROM notes LIMIT 2)", [large])
        connection.execute("UPDATE notes SET seen = seen + 1 WHERE id IN (SELECT id FROM notes LIMIT 3)")

    def _truncate(self, connection: psycopg.Connection[Any]) -> None:
        """A truncate, now and then of a table that is filled again before anybody sees it empty."""
        both = sql.SQL("TRUNCATE orders, notes")
        connection.execute(self._random.choice([sql.SQL("TRUNCATE orders"), both]))
        if self._random.random() < 0.5:
            self._several_tables(connection)

    def _add_column(self, connection: psycopg.Connection[Any]) -> None:
        self._columns += 1
        name = f"extra{self._columns}"
        connection.execute(sql.SQL("ALTER TABLE things ADD COLUMN {} int").format(sql.Identifier(name)))
        connection.execute(sql.SQL("UPDATE things SET {} = id WHERE mod(id, 2) = 0").format(sql.Identifier(name)))
        self._added.append(name)

    def _drop_column(self, connection: psycopg.Connection[Any]) -> None:
        for name in self._taken():
            connection.execute(sql.SQL("ALTER TABLE things DROP COLUMN IF EXISTS {}").format(sql.Identifier(name)))

    def _rename_column(self, connection: psycopg.Connection[Any]) -> None:
        """As a migration does it: the rows are written again, since a new name is a new column to everybody else."""
        for name in self._taken():
            new = f"renamed_{name}"
            if self._has(connection, name):
                statement = sql.SQL("ALTER TABLE things RENAME COLUMN {} TO {}")
                connection.execute(statement.format(sql.Identifier(name), sql.Identifier(new)))
                connection.execute(sql.SQL("UPDATE things SET {0} = {0}").format(sql.Identifier(new)))

    def _widen(self, connection: psycopg.Connection[Any]) -> None:
        column, kind = self._random.choice(
            [("i2", "int4"), ("i4", "int8"), ("f4", "float8"), ("money", "numeric(18, 3)"), ("short", "text")]
        )
        connection.execute(sql.SQL(f"ALTER TABLE things ALTER COLUMN {column} TYPE {kind}"))  # type: ignore[arg-type]  # constants

    def _change_type(self, connection: psycopg.Connection[Any]) -> None:
        for name in self._taken():
            if self._has(connection, name):
                column = sql.Identifier(name)
                connection.execute(sql.SQL("ALTER TABLE things ALTER COLUMN {} TYPE text").format(column))
                connection.execute(sql.SQL("UPDATE things SET {0} = {0} || 'x' WHERE mod(id, 3) = 0").format(column))

    def _taken(self) -> list[str]:
        """An added column that is changed once and then left alone."""
        return [self._added.pop(self._random.randrange(len(self._added)))] if self._added else []

    def _has(self, connection: psycopg.Connection[Any], column: str) -> bool:
        """Whether a column is there: the transaction that added it may have been cut off."""
        asked = "SELECT 1 FROM pg_attribute WHERE attrelid = 'things'::regclass AND attname = %s"
        return connection.execute(asked, [column]).fetchone() is not None

    def _thing(self) -> dict[str, Any]:
        """A row; each value but the key is null now and then."""
        chance = self._random
        seconds = chance.randrange(-(10**9), 4 * 10**9)
        values = {
            "i2": chance.randint(-(2**15), 2**15 - 1),
            "i4": chance.randint(-(2**31), 2**31 - 1),
            "i8": chance.randint(-(2**63), 2**63 - 1),
            "f4": chance.choice([0.1, -1.5, 3e38, float("inf"), float("nan")]),
            "f8": chance.choice([chance.random() * 1e300, -0.0, float("nan")]),
            "money": chance.choice([self._decimal(9, 3), Decimal("NaN")]),
            "number": self._decimal(30, chance.randint(0, 20)),
            "flag": chance.random() < 0.5,
            "words": self._text(),
            "short": self._text()[:40],
            "fixed": self._text()[:5],
            "raw": chance.randbytes(chance.randint(0, 30)),
            "day": f"{chance.randint(1900, 2100)}-02-2{chance.randint(0, 8)}",
            "hour": f"{chance.randint(0, 23)}:59:59.{self._bits(19):06d}"[:15],
            "moment": _moment(seconds, self._bits(19)),
            "instant": _moment(seconds, self._bits(19)) + "+03:30",
            "code": uuid.UUID(int=self._bits(128)),
            "doc": f'{{"a": {self._bits(16)},  "b": null}}',
            "docb": Jsonb({"b": self._text(), "a": [self._bits(8)]}),
            "feeling": chance.choice(["sad", "ok", "happy"]),
            "tags": [self._text(), None, 'quo"ted, \\'],
            "counts": [self._bits(30), None],
            "span": f"{self._bits(6)} days {self._bits(5)} hours",
            "address": f"10.0.{self._bits(8)}.{self._bits(8)}/24",
        }
        return {"id": self._id()} | {name: None if chance.random() < 0.1 else value for name, value in values.items()}

    def _id(self) -> int:
        return self._random.randrange(_IDS)

    def _bits(self, count: int) -> int:
        return self._random.getrandbits(count)

    def _decimal(self, digits: int, scale: int) -> Decimal:
        return Decimal(self._random.randint(-(10**digits), 10**digits)).scaleb(-scale)

    def _text(self) -> str:
        return "".join(self._random.choices("aZ9 äß漢🙂'\"\\\n\t%{}", k=self._random.randint(0, 12)))


def _moment(seconds: int, micros: int) -> str:
    shown = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))
    return f"{shown}.{micros % 10**6:06d}"
