-- A small shop: customers order products, whose prices change.
CREATE TYPE order_state AS ENUM ('open', 'paid', 'sent', 'cancelled');

CREATE TABLE customers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL UNIQUE,
    city text,
    since timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE products (
    sku text PRIMARY KEY,
    title text NOT NULL,
    price numeric(10, 2) NOT NULL CHECK (price > 0),
    tags text[] NOT NULL DEFAULT '{}',
    details jsonb NOT NULL DEFAULT '{}'
);

CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer bigint NOT NULL REFERENCES customers,
    state order_state NOT NULL DEFAULT 'open',
    ordered_at timestamptz NOT NULL DEFAULT now(),
    delivery date
);

CREATE TABLE order_lines (
    "order" bigint NOT NULL REFERENCES orders ON DELETE CASCADE,
    line int NOT NULL,
    sku text NOT NULL REFERENCES products,
    quantity int NOT NULL CHECK (quantity > 0),
    price numeric(10, 2) NOT NULL,
    PRIMARY KEY ("order", line)
);

INSERT INTO products (sku, title, price, tags, details) VALUES
    ('tea-earl', 'Earl Grey, 250 g', 7.90, '{tea,black}', '{"origin": "Sri Lanka"}'),
    ('tea-sencha', 'Sencha, 100 g', 11.50, '{tea,green}', '{"origin": "Japan", "steamed": true}'),
    ('cup-blue', 'Cup, blue', 14.00, '{ceramics}', '{"litres": 0.3}'),
    ('pot-iron', 'Teapot, cast iron', 59.00, '{ceramics,gift}', '{"litres": 0.8}'),
    ('honey-lime', 'Lime honey, 500 g', 9.20, '{food}', '{}');
