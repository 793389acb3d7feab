-- What looks different now is told, in the order of the aspects for each dataset.
INSERT INTO outbox (urn, aspect, before, after, event_time, actor)
SELECT t.urn, c.aspect, c.before, c.after, t.seen_at, t.actor
FROM batch_touched t JOIN (
    SELECT coalesce(a.urn, b.urn) AS urn, coalesce(a.aspect, b.aspect) AS aspect, a.position, b.value AS before, a.value AS after
    FROM batch_shown b FULL JOIN (
        SELECT a.* FROM batch_touched t CROSS JOIN LATERAL (SELECT * FROM dataset_aspect WHERE urn = t.urn OFFSET 0) AS a
    ) AS a ON a.urn = b.urn AND a.aspect = b.aspect
    WHERE looks_different(coalesce(a.aspect, b.aspect), b.value, a.value)
) AS c ON c.urn = t.urn
ORDER BY t.urn, c.position;
