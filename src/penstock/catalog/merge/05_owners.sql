-- An owner is valid from the first statement of a source that names it to the first that does not.
DELETE FROM dataset_owner o USING batch_rewritten r
WHERE r.aspect = 'owners' AND o.urn = r.urn AND o.source = r.source AND o.valid_from >= r.since;

UPDATE dataset_owner o SET valid_to = NULL FROM batch_rewritten r
WHERE r.aspect = 'owners' AND o.urn = r.urn AND o.source = r.source AND o.valid_to >= r.since;

-- Statement 0 is what is valid already; those of one owner that follow each other make a period.
WITH statement AS (
    SELECT o.urn, o.source, o.seen_at, o.digest,
        row_number() OVER (PARTITION BY o.urn, o.source ORDER BY o.seen_at) AS number
    FROM batch_rewritten r JOIN observation o
        ON o.urn = r.urn AND o.source = r.source AND o.aspect = 'owners' AND o.seen_at >= r.since
    WHERE r.aspect = 'owners'
), named AS (
    SELECT o.urn, o.source, o.owner, o.owner_type, 0::bigint AS number, o.valid_from AS seen_at
    FROM batch_rewritten r JOIN dataset_owner o ON o.urn = r.urn AND o.source = r.source AND o.valid_to IS NULL
    WHERE r.aspect = 'owners'
    UNION
    SELECT s.urn, s.source, n ->> 'owner', n ->> 'type', s.number, s.seen_at
    FROM statement s, jsonb_array_elements((SELECT value FROM observed_value v WHERE v.digest = s.digest)) AS n
), period AS (
    SELECT urn, source, owner, owner_type, min(seen_at) AS valid_from, max(number) AS last_number
    FROM (SELECT *, number - row_number() OVER (PARTITION BY urn, source, owner, owner_type ORDER BY number) AS run FROM named) AS runs
    GROUP BY urn, source, owner, owner_type, run
)
INSERT INTO dataset_owner (urn, source, owner, owner_type, valid_from, valid_to)
SELECT p.urn, p.source, p.owner, p.owner_type, p.valid_from, s.seen_at
FROM period p LEFT JOIN statement s ON s.urn = p.urn AND s.source = p.source AND s.number = p.last_number + 1
ON CONFLICT (urn, source, owner, owner_type, valid_from) DO UPDATE SET valid_to = EXCLUDED.valid_to
WHERE dataset_owner.valid_to IS DISTINCT FROM EXCLUDED.valid_to;
