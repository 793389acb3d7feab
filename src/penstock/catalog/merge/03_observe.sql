-- Datasets and what was said of them. Of two messages of the same moment, the one further on in Kafka counts.
INSERT INTO dataset (urn, platform, name, origin, first_seen)
SELECT urn, parts[1], parts[2], parts[3], first_seen FROM batch_dataset b, LATERAL urn_parts(urn) AS parts
WHERE NOT EXISTS (SELECT FROM dataset d WHERE d.urn = b.urn)
ON CONFLICT DO NOTHING;

UPDATE dataset d SET first_seen = b.first_seen FROM batch_dataset b
WHERE d.urn = b.urn AND b.first_seen < d.first_seen;

INSERT INTO observed_value
SELECT DISTINCT ON (digest) digest, value FROM batch_observation
ON CONFLICT DO NOTHING;

INSERT INTO observation (urn, aspect, source, seen_at, digest, actor, kafka_topic, kafka_partition, kafka_offset)
SELECT urn, aspect, source, seen_at, digest, actor, kafka_topic, kafka_partition, kafka_offset FROM batch_observation
ON CONFLICT (urn, aspect, source, seen_at) DO UPDATE SET
    digest = EXCLUDED.digest, actor = EXCLUDED.actor, kafka_topic = EXCLUDED.kafka_topic,
    kafka_partition = EXCLUDED.kafka_partition, kafka_offset = EXCLUDED.kafka_offset
WHERE (EXCLUDED.kafka_topic, EXCLUDED.kafka_partition, EXCLUDED.kafka_offset)
    > (observation.kafka_topic, observation.kafka_partition, observation.kafka_offset);

-- A history is written anew from the earliest thing on that the batch says: nearly always only its end.
INSERT INTO batch_rewritten
SELECT urn, aspect, source, min(seen_at) FROM batch_observation GROUP BY urn, aspect, source;

-- Values are looked up one by one, here and below: a join with so large a table the planner may turn around.
INSERT INTO batch_said
SELECT t.urn, k.aspect, s.name, s.rank, o.seen_at, (SELECT value FROM observed_value v WHERE v.digest = o.digest)
FROM batch_touched t
CROSS JOIN (VALUES ('status'), ('description'), ('properties'), ('tags'), ('deprecation'), ('upstreams')) AS k (aspect)
CROSS JOIN source s
CROSS JOIN LATERAL (
    SELECT digest, seen_at FROM observation
    WHERE urn = t.urn AND aspect = k.aspect AND source = s.name ORDER BY seen_at DESC LIMIT 1
) AS o;

ANALYZE batch_rewritten, batch_said;
