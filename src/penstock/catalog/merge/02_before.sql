-- Which datasets may look different afterwards, and what they look like now. Lineage is COPY, until something shows
-- that it is TRANSFORMED.
INSERT INTO batch_touched
SELECT DISTINCT ON (urn) urn, seen_at, actor FROM (
    SELECT urn, seen_at, actor FROM batch_observation
    UNION ALL
    SELECT urn, first_seen, NULL FROM batch_dataset b WHERE NOT EXISTS (SELECT FROM dataset d WHERE d.urn = b.urn)
    UNION ALL
    SELECT downstream_urn, seen_at, NULL FROM batch_lineage b WHERE NOT EXISTS (
        SELECT FROM dataset_lineage l
        WHERE l.downstream_urn = b.downstream_urn AND l.upstream_urn = b.upstream_urn AND l.kind >= b.kind)
) AS named
ORDER BY urn, seen_at DESC, actor;

ANALYZE batch_touched;

-- OFFSET 0 keeps the planner from making the aspects of all datasets to join them, here and in 08_tell.sql.
INSERT INTO batch_shown
SELECT a.urn, a.aspect, a.value FROM batch_touched t
CROSS JOIN LATERAL (SELECT * FROM dataset_aspect WHERE urn = t.urn OFFSET 0) AS a;
