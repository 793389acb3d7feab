-- What comes from what: a source's own list replaces its list before; what jobs and copies show adds up.
DELETE FROM dataset_lineage l USING batch_rewritten r
WHERE r.aspect = 'upstreams' AND l.downstream_urn = r.urn AND l.source = r.source;

INSERT INTO dataset_lineage (downstream_urn, upstream_urn, source, job_urn, kind, first_seen, last_seen)
SELECT DISTINCT s.urn, up.urn, s.source, '', 'TRANSFORMED', s.seen_at, s.seen_at
FROM batch_said s, jsonb_array_elements_text(s.value) AS up (urn)
WHERE s.aspect = 'upstreams' AND up.urn <> s.urn
ON CONFLICT DO NOTHING;

INSERT INTO dataset_lineage AS l (downstream_urn, upstream_urn, source, job_urn, kind, first_seen, last_seen)
SELECT downstream_urn, upstream_urn, 'tracking', job_urn, max(kind), min(seen_at), max(seen_at)
FROM batch_lineage GROUP BY downstream_urn, upstream_urn, job_urn
ON CONFLICT (downstream_urn, upstream_urn, source, job_urn) DO UPDATE SET
    first_seen = least(l.first_seen, EXCLUDED.first_seen), last_seen = greatest(l.last_seen, EXCLUDED.last_seen)
WHERE EXCLUDED.first_seen < l.first_seen OR EXCLUDED.last_seen > l.last_seen;
