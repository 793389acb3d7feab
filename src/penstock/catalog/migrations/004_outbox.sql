-- Changes on their way to Kafka, written in the merge's transaction. Merges take turns, so ids grow in the order of
-- their commits, and the sender may go by them.
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    urn text NOT NULL,
    aspect text NOT NULL,
    before jsonb,
    after jsonb,
    event_time timestamptz NOT NULL,
    actor text
);

-- Changes that Kafka can never take, such as one larger than a broker's limit, and why.
CREATE TABLE outbox_refused (LIKE outbox, reason text NOT NULL);
