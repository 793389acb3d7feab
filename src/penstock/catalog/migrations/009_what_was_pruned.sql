-- What retention removed, by where it came from: rows of messages that Kafka still has can be read again, and only those.
ALTER TABLE staging_pruned
    ADD COLUMN kafka_topic text NOT NULL DEFAULT '',
    ADD COLUMN kafka_partition integer NOT NULL DEFAULT -1,
    ADD COLUMN first_offset bigint NOT NULL DEFAULT 0,
    DROP CONSTRAINT staging_pruned_pkey,
    ADD PRIMARY KEY (table_name, kafka_topic, kafka_partition);
