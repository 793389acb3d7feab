-- What the merge computes with: functions of their arguments alone, which never fail on anything that staging lets in.
-- Where PostgreSQL calls something inside them stable they say so too: otherwise they would not be inlined.

CREATE FUNCTION moment(ms bigint) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE RETURN
    timestamptz '1970-01-01 00:00:00+00' + ms * interval '1 millisecond';

CREATE FUNCTION dataset_path(location text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    regexp_replace(
        regexp_replace(location, '^hdfs://[^/]*', ''),
        '(/(hourly|daily|monthly|yearly))?(/\d[\w-]*)*/*$', '');

CREATE FUNCTION hdfs_urn(path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    'urn:li:dataset:(urn:li:dataPlatform:hdfs,' || regexp_replace(path, '^hdfs://[^/]*', '') || ',PROD)';

CREATE FUNCTION hive_urn(db text, name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    'urn:li:dataset:(urn:li:dataPlatform:hive,' || db || '.' || name || ',PROD)';

CREATE FUNCTION job_urn(application text, flow text, job text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    'urn:li:dataJob:(urn:li:dataFlow:(' || application || ',' || flow || ',PROD),' || job || ')';

-- The parts of a dataset's URN: platform, name, origin. A name may have commas and brackets itself.
CREATE FUNCTION urn_parts(urn text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    regexp_match(urn, '^urn:li:dataset:\(urn:li:dataPlatform:([^,()]+),(.+),([A-Z_]+)\)$');

-- The moment that a partition's name begins with: 2016/07/10[/02], 2016-07-10[-02], or epoch milliseconds. Days that no
-- month has roll over instead of failing. Places instead of captured groups, which cost PostgreSQL 100 times as much.
CREATE FUNCTION data_time(partition text) RETURNS timestamptz LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    name text := ltrim(lower(partition), 'abcdefghijklmnopqrstuvwxyz _=[]"''/-.:');
BEGIN
    IF name ~ '^(19|20)\d\d[-/](0[1-9]|1[0-2])[-/](0[1-9]|[12]\d|3[01])(?!\d)' THEN
        RETURN make_timestamptz(left(name, 4)::int, substr(name, 6, 2)::int, 1, 0, 0, 0, 'UTC') + make_interval(
            days => substr(name, 9, 2)::int - 1,
            hours => CASE WHEN substr(name, 11) ~ '^[-/]([01]\d|2[0-3])(?!\d)' THEN substr(name, 12, 2)::int ELSE 0 END);
    END IF;
    RETURN CASE WHEN name ~ '^\d{13}(?!\d)' THEN moment(left(name, 13)::bigint)
                WHEN name ~ '^\d{12}(?!\d)' THEN moment(left(name, 12)::bigint) END;
END
$$;

-- What is different between two lists of fields, by their paths.
CREATE FUNCTION schema_diff(before jsonb, after jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT jsonb_build_object(
        'added', coalesce(jsonb_agg(a.field ORDER BY a.position) FILTER (WHERE b.field IS NULL), '[]'),
        'removed', coalesce(jsonb_agg(b.field ORDER BY b.position) FILTER (WHERE a.field IS NULL), '[]'),
        'modified', coalesce(jsonb_agg(jsonb_build_object('before', b.field, 'after', a.field) ORDER BY a.position)
            FILTER (WHERE a.field <> b.field), '[]'))
    FROM jsonb_array_elements(coalesce(before, '[]')) WITH ORDINALITY AS b (field, position)
    FULL JOIN jsonb_array_elements(after) WITH ORDINALITY AS a (field, position)
        ON (a.field ->> 'path') = (b.field ->> 'path');
END;

-- The words of a name: PageViewEvent is found by itself and by each of page, view and event.
CREATE FUNCTION words_of(name text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    plain text := translate(left(name, 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32));
BEGIN
    RETURN CASE WHEN plain ~ '[a-z0-9][A-Z]' THEN plain || ' ' || regexp_replace(plain, '([a-z0-9])([A-Z])', '\1 \2', 'g')
                ELSE plain END;
END
$$;

-- What a dataset is found by: its name first, then tags, owners, fields and its description.
CREATE FUNCTION search_words(name text, tags text, owners text, fields text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    setweight(to_tsvector('simple', words_of(name)), 'A')
    || setweight(to_tsvector('simple', words_of(tags)), 'B')
    || setweight(to_tsvector('simple', words_of(owners)), 'C')
    || setweight(to_tsvector('simple', words_of(fields)), 'D');
