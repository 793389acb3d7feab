-- The picture that the events give together. Everything here follows from the set of events alone, whatever their
-- order and repetition, so no column tells the time of a merge.

-- Who may say something of a dataset; where two disagree, the lower rank wins (docs/catalog.md has the rules).
CREATE TABLE source (
    name text PRIMARY KEY,
    rank smallint NOT NULL UNIQUE,
    meaning text NOT NULL
);
INSERT INTO source VALUES
    ('change', 1, 'metadata change events: somebody said so'),
    ('penstock', 2, 'what Penstock knows of its own topics and tables'),
    ('metastore', 3, 'Hive''s metastore audit events'),
    ('files', 4, 'the audit of files');

CREATE TABLE dataset (
    urn text PRIMARY KEY,
    platform text NOT NULL,
    name text NOT NULL,
    origin text NOT NULL,
    description text,
    properties jsonb NOT NULL DEFAULT '{}',
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'removed')),
    deprecated boolean NOT NULL DEFAULT false,
    deprecation_note text,
    first_seen timestamptz NOT NULL,
    changed_at timestamptz
);
CREATE INDEX dataset_by_name ON dataset (lower(name) text_pattern_ops);

CREATE TABLE dataset_search (
    urn text PRIMARY KEY,
    words tsvector NOT NULL
);
CREATE INDEX dataset_search_words ON dataset_search USING gin (words);

-- Each thing that a source said of an aspect, and when; the value stands once, however often it is said.
CREATE TABLE observation (
    urn text NOT NULL,
    aspect text NOT NULL,
    source text NOT NULL,
    seen_at timestamptz NOT NULL,
    digest bytea NOT NULL,
    actor text,
    kafka_topic text NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    PRIMARY KEY (urn, aspect, source, seen_at)
);
CREATE TABLE observed_value (
    digest bytea PRIMARY KEY,
    value jsonb NOT NULL
);

CREATE TABLE dataset_schema (
    urn text NOT NULL,
    source text NOT NULL,
    version integer NOT NULL,
    fields jsonb NOT NULL,
    diff jsonb NOT NULL,
    digest bytea NOT NULL,
    valid_from timestamptz NOT NULL,
    PRIMARY KEY (urn, source, version)
);

CREATE TABLE dataset_owner (
    urn text NOT NULL,
    source text NOT NULL,
    owner text NOT NULL,
    owner_type text NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    PRIMARY KEY (urn, source, owner, owner_type, valid_from)
);
CREATE INDEX dataset_owner_by_owner ON dataset_owner (owner) WHERE valid_to IS NULL;

CREATE TABLE dataset_tag (
    urn text NOT NULL,
    source text NOT NULL,
    tag text NOT NULL,
    PRIMARY KEY (urn, source, tag)
);
CREATE INDEX dataset_tag_by_tag ON dataset_tag (tag);

-- WhereHows' log_dataset_instance_load_status: what happened to a dataset's partition on a cluster, as last told.
CREATE TABLE dataset_load_status (
    urn text NOT NULL,
    cluster text NOT NULL,
    operation_type text NOT NULL,
    partition_grain text NOT NULL,
    partition_expr text NOT NULL,
    data_time timestamptz,
    record_count bigint,
    late_record_count bigint,
    log_time timestamptz NOT NULL,
    ref_uri text,
    job_context text,
    project_name text,
    flow_name text,
    job_name text,
    flow_exec_id bigint,
    kafka_topic text NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    PRIMARY KEY (urn, cluster, operation_type, partition_grain, partition_expr)
);
CREATE INDEX dataset_load_status_by_time ON dataset_load_status (urn, log_time DESC);

CREATE TABLE dataset_lineage (
    downstream_urn text NOT NULL,
    upstream_urn text NOT NULL,
    source text NOT NULL,
    job_urn text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('COPY', 'TRANSFORMED')),
    first_seen timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    PRIMARY KEY (downstream_urn, upstream_urn, source, job_urn)
);
CREATE INDEX dataset_lineage_up ON dataset_lineage (upstream_urn);

CREATE TABLE job_execution (
    job_urn text NOT NULL,
    execution_id text NOT NULL,
    application text NOT NULL,
    flow_name text NOT NULL,
    job_name text NOT NULL,
    status text NOT NULL,
    start_time timestamptz,
    end_time timestamptz,
    event_time timestamptz NOT NULL,
    kafka_topic text NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    PRIMARY KEY (job_urn, execution_id)
);

-- The current schema and owners are those of the best source that has any; tags of all sources count.
CREATE VIEW dataset_current_schema AS
SELECT s.* FROM dataset_schema s JOIN source r ON r.name = s.source
WHERE NOT EXISTS (
    SELECT FROM dataset_schema b JOIN source q ON q.name = b.source
    WHERE b.urn = s.urn AND (q.rank, -b.version) < (r.rank, -s.version)
);

CREATE VIEW dataset_current_owner AS
SELECT o.urn, o.source, o.owner, o.owner_type, o.valid_from FROM dataset_owner o JOIN source r ON r.name = o.source
WHERE o.valid_to IS NULL AND NOT EXISTS (
    SELECT FROM dataset_owner b JOIN source q ON q.name = b.source
    WHERE b.urn = o.urn AND b.valid_to IS NULL AND q.rank < r.rank
);

-- What is told of a dataset: each aspect, under DataHub's names, as it is now.
CREATE VIEW dataset_aspect AS
SELECT d.urn, a.aspect, a.value, a.position
FROM dataset d CROSS JOIN LATERAL (VALUES
    (1, 'datasetKey', jsonb_build_object('platform', d.platform, 'name', d.name, 'origin', d.origin)),
    (2, 'status', jsonb_build_object('removed', d.status = 'removed')),
    (3, 'datasetProperties', CASE WHEN d.description IS NOT NULL OR d.properties <> '{}' THEN
        jsonb_build_object('description', d.description, 'customProperties', d.properties) END),
    (4, 'schemaMetadata', (
        SELECT jsonb_build_object('version', s.version, 'fields', s.fields)
        FROM dataset_schema s JOIN source r ON r.name = s.source
        WHERE s.urn = d.urn ORDER BY r.rank, s.version DESC LIMIT 1)),
    (5, 'ownership', (
        SELECT jsonb_agg(jsonb_build_object('owner', o.owner, 'type', o.owner_type) ORDER BY o.owner, o.owner_type)
        FROM dataset_current_owner o WHERE o.urn = d.urn)),
    (6, 'globalTags', (SELECT jsonb_agg(DISTINCT t.tag) FROM dataset_tag t WHERE t.urn = d.urn)),
    (7, 'deprecation', CASE WHEN d.deprecated THEN jsonb_build_object('deprecated', true, 'note', d.deprecation_note) END),
    (8, 'upstreamLineage', (
        SELECT jsonb_agg(jsonb_build_object('dataset', u.upstream_urn, 'type', u.kind) ORDER BY u.upstream_urn)
        FROM (SELECT upstream_urn, max(kind) AS kind FROM dataset_lineage
              WHERE downstream_urn = d.urn GROUP BY upstream_urn) u))
) AS a (position, aspect, value)
WHERE a.value IS NOT NULL;
