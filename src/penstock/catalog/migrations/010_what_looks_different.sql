-- Whether an aspect looks different: a late event may give a schema another version, and its fields are as they were.
CREATE FUNCTION looks_different(aspect text, before jsonb, after jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    CASE aspect WHEN 'schemaMetadata' THEN (before -> 'fields') IS DISTINCT FROM (after -> 'fields')
        ELSE before IS DISTINCT FROM after END;
