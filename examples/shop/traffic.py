"""Believable traffic for the shop: customers come, order, pay and cancel, and prices change.

python traffic.py postgresql://penstock@localhost:5433/shop --seconds 60 --rate 20
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

SCHEMA = Path(__file__).with_name("schema.sql")
NAMES = ("Ada", "Grace", "Mary", "Joan", "Hedy", "Radia", "Barbara", "Annie", "Karen", "Frances")
CITIES = ("London", "Arlington", "Edinburgh", "Wien", "Bern", "Oslo", None)

Connection = psycopg.Connection[tuple[object, ...]]
Deed = Callable[[Connection, random.Random], None]


def sign_up(shop: Connection, chance: random.Random) -> None:
    """A customer comes, or comes back and moves house."""
    name, number = chance.choice(NAMES), chance.randrange(10_000)
    shop.execute(
        "INSERT INTO customers (name, email, city) VALUES (%s, %s, %s) "
        "ON CONFLICT (email) DO UPDATE SET city = excluded.city",
        (name, f"{name.lower()}{number}@example.org", chance.choice(CITIES)),
    )


def order(shop: Connection, chance: random.Random) -> None:
    """A customer orders one to four products, in one transaction."""
    with shop.transaction():
        found = shop.execute(
            "INSERT INTO orders (customer) SELECT id FROM customers ORDER BY random() LIMIT 1 RETURNING id"
        ).fetchone()
        if found is not None:
            shop.execute(
                'INSERT INTO order_lines ("order", line, sku, quantity, price) '
                "SELECT %s, row_number() OVER (), sku, 1 + floor(random() * 3)::int, price "
                "FROM (SELECT sku, price FROM products ORDER BY random() LIMIT %s) chosen",
                (found[0], chance.randint(1, 4)),
            )


def go_on(shop: Connection, chance: random.Random) -> None:
    """The oldest open order is paid, or a paid one sent."""
    before, after = chance.choice((("open", "paid"), ("paid", "sent")))
    shop.execute(
        "UPDATE orders SET state = %s, delivery = current_date + 3 "
        "WHERE id = (SELECT id FROM orders WHERE state = %s ORDER BY id LIMIT 1)",
        (after, before),
    )


def cancel(shop: Connection, _chance: random.Random) -> None:
    """An open order is cancelled, and its lines go."""
    shop.execute(
        "WITH gone AS (UPDATE orders SET state = 'cancelled' WHERE id = "
        "(SELECT id FROM orders WHERE state = 'open' ORDER BY random() LIMIT 1) RETURNING id) "
        'DELETE FROM order_lines WHERE "order" IN (SELECT id FROM gone)'
    )


def change_price(shop: Connection, chance: random.Random) -> None:
    """A price goes up or down by a few per cent."""
    shop.execute(
        "UPDATE products SET price = greatest(1, round(price * %s::numeric, 2)) "
        "WHERE sku = (SELECT sku FROM products ORDER BY random() LIMIT 1)",
        (chance.uniform(0.95, 1.06),),
    )


DEEDS: dict[Deed, int] = {sign_up: 3, order: 6, go_on: 6, cancel: 1, change_price: 1}
"""What happens, and how often compared with the rest."""


def create(url: str) -> None:
    """Make the database and its tables."""
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, dbname="postgres", autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(str(name))))
    with psycopg.connect(url) as shop:
        shop.execute(SCHEMA.read_bytes())


def main() -> None:
    """Let things happen at a rate, for a time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=20, help="deeds a second")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--create", action="store_true", help="make the database and its tables first")
    given = parser.parse_args()
    if given.create:
        create(given.database)
    chance = random.Random(given.seed)  # noqa: S311 - traffic, not secrets
    done = 0
    with psycopg.connect(given.database, autocommit=True) as shop:
        for _ in range(5):
            sign_up(shop, chance)
        end = time.monotonic() + given.seconds
        while time.monotonic() < end:
            [deed] = chance.choices(list(DEEDS), list(DEEDS.values()))
            deed(shop, chance)
            done += 1
            time.sleep(chance.expovariate(given.rate))
    print(f"{done} deeds done")


if __name__ == "__main__":
    main()
