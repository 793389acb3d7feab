-- The dataset itself, from what each source said last; and the words by which it is found.
DELETE FROM dataset_tag t USING batch_rewritten r WHERE r.aspect = 'tags' AND t.urn = r.urn AND t.source = r.source;

INSERT INTO dataset_tag (urn, source, tag)
SELECT DISTINCT s.urn, s.source, tag FROM batch_said s, jsonb_array_elements_text(s.value) AS tag WHERE s.aspect = 'tags'
ON CONFLICT DO NOTHING;

UPDATE dataset d SET
    description = (
        SELECT value #>> '{}' FROM batch_said WHERE urn = d.urn AND aspect = 'description' ORDER BY rank LIMIT 1),
    properties = coalesce((
        SELECT jsonb_object_agg(p.key, p.value ORDER BY s.rank DESC)
        FROM batch_said s, jsonb_each(s.value) AS p WHERE s.urn = d.urn AND s.aspect = 'properties'), '{}'),
    status = coalesce((
        SELECT CASE WHEN (value ->> 'removed')::boolean THEN 'removed' ELSE 'active' END
        FROM batch_said WHERE urn = d.urn AND aspect = 'status' ORDER BY seen_at DESC, rank LIMIT 1), 'active'),
    deprecated = coalesce(gone.deprecated, false),
    deprecation_note = gone.note,
    changed_at = (SELECT max(seen_at) FROM observation WHERE urn = d.urn)
FROM batch_touched t LEFT JOIN LATERAL (
    SELECT (value ->> 'deprecated')::boolean AS deprecated, value ->> 'note' AS note
    FROM batch_said WHERE urn = t.urn AND aspect = 'deprecation' ORDER BY rank LIMIT 1
) AS gone ON true
WHERE d.urn = t.urn;

INSERT INTO dataset_search (urn, words)
SELECT d.urn, search_words(
    d.platform || ' ' || d.name,
    coalesce((SELECT string_agg(DISTINCT tag, ' ') FROM dataset_tag WHERE urn = d.urn), ''),
    coalesce((SELECT string_agg(DISTINCT owner, ' ') FROM dataset_current_owner WHERE urn = d.urn), ''),
    coalesce((SELECT string_agg(f.field ->> 'path', ' ') FROM (
        SELECT fields FROM dataset_schema s JOIN source r ON r.name = s.source
        WHERE s.urn = d.urn ORDER BY r.rank, s.version DESC LIMIT 1
    ) AS current, jsonb_array_elements(current.fields) AS f (field)), '') || ' ' || coalesce(d.description, ''))
FROM batch_touched t JOIN dataset d ON d.urn = t.urn
ON CONFLICT (urn) DO UPDATE SET words = EXCLUDED.words WHERE dataset_search.words <> EXCLUDED.words;
