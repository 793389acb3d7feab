-- A version of a schema begins where what is said differs from what was said before.
DELETE FROM dataset_schema s USING batch_rewritten r
WHERE r.aspect = 'schema' AND s.urn = r.urn AND s.source = r.source AND s.valid_from >= r.since;

WITH base AS (
    SELECT r.urn, r.source, r.since, coalesce(b.version, 0) AS version, b.digest
    FROM batch_rewritten r LEFT JOIN LATERAL (
        SELECT version, digest FROM dataset_schema
        WHERE urn = r.urn AND source = r.source ORDER BY version DESC LIMIT 1
    ) AS b ON true
    WHERE r.aspect = 'schema'
), said AS (
    SELECT o.urn, o.source, o.seen_at, o.digest, b.version AS base_version,
        lag(o.digest, 1, b.digest) OVER (PARTITION BY o.urn, o.source ORDER BY o.seen_at) AS digest_before
    FROM base b JOIN observation o
        ON o.urn = b.urn AND o.source = b.source AND o.aspect = 'schema' AND o.seen_at >= b.since
), changed AS (
    SELECT urn, source, seen_at, digest, digest_before,
        base_version + row_number() OVER (PARTITION BY urn, source ORDER BY seen_at) AS version
    FROM said WHERE digest IS DISTINCT FROM digest_before
)
INSERT INTO dataset_schema (urn, source, version, fields, diff, digest, valid_from)
SELECT urn, source, version, fields, schema_diff(fields_before, fields), digest, seen_at
FROM (SELECT c.*, (SELECT value FROM observed_value v WHERE v.digest = c.digest) AS fields,
    (SELECT value FROM observed_value v WHERE v.digest = c.digest_before) AS fields_before FROM changed c) AS versions;
