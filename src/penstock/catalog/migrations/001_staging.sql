-- What events said, one row for each message. The names and columns are those of WhereHows' kafka_tracking.sql, with
-- types of today; kafka_* says which message a row comes from, so that writing it again changes nothing.
-- The domains and checks are the contract: what could not be merged or indexed later is refused here, row by row.

CREATE DOMAIN event_ms AS bigint CHECK (VALUE BETWEEN 0 AND 253402300799999);
CREATE DOMAIN name_text AS text CHECK (octet_length(VALUE) BETWEEN 1 AND 600);
CREATE DOMAIN word_text AS text CHECK (octet_length(VALUE) <= 200);
CREATE DOMAIN part_text AS text CHECK (octet_length(VALUE) <= 500);

CREATE FUNCTION is_dataset_urn(urn text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    octet_length(urn) <= 800 AND urn ~ '^urn:li:dataset:\(urn:li:dataPlatform:[^,()]{1,100},.+,[A-Z_]{1,20}\)$';

CREATE DOMAIN dataset_urn AS text CHECK (is_dataset_urn(VALUE));

-- The elements of a list; one null for what is no list, so that it fails every check.
CREATE FUNCTION elements_of(list jsonb) RETURNS SETOF jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    jsonb_array_elements(CASE jsonb_typeof(list) WHEN 'array' THEN list ELSE '[null]' END);

CREATE FUNCTION are_short_texts(list jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (
    SELECT list IS NULL OR coalesce(bool_and(jsonb_typeof(item) = 'string' AND octet_length(item #>> '{}') BETWEEN 1 AND 400), true)
    FROM elements_of(list) AS item);

CREATE FUNCTION are_dataset_urns(list jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (
    SELECT list IS NULL OR coalesce(bool_and(jsonb_typeof(item) = 'string' AND is_dataset_urn(item #>> '{}')), true)
    FROM elements_of(list) AS item);

CREATE FUNCTION are_owners(list jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (
    SELECT list IS NULL OR coalesce(bool_and(coalesce(
        jsonb_typeof(item -> 'owner') = 'string' AND octet_length(item ->> 'owner') BETWEEN 1 AND 400
        AND jsonb_typeof(item -> 'type') = 'string' AND octet_length(item ->> 'type') BETWEEN 1 AND 100, false)), true)
    FROM elements_of(list) AS item);

CREATE FUNCTION are_fields(list jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (
    SELECT list IS NULL OR coalesce(bool_and(coalesce(
        jsonb_typeof(item -> 'path') = 'string' AND item ->> 'path' <> '' AND jsonb_typeof(item -> 'type') = 'string'
        AND jsonb_typeof(item -> 'nullable') = 'boolean', false)), true) AND count(DISTINCT item ->> 'path') = count(*)
    FROM elements_of(list) AS item);

CREATE TABLE stg_kafka_gobblin_compaction (
    cluster word_text NOT NULL,
    dataset name_text NOT NULL,
    partition_type word_text,
    partition_name part_text,
    record_count bigint,
    late_record_count bigint,
    dedupe_status text,
    job_context text,
    project_name text,
    flow_name text,
    job_name text,
    flow_exec_id bigint,
    log_event_time event_ms NOT NULL,
    kafka_topic text NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    PRIMARY KEY (kafka_topic, kafka_partition, kafka_offset)
);

CREATE TABLE stg_kafka_gobblin_lumos (
    cluster word_text NOT NULL,
    dataset name_text NOT NULL,
    location text NOT NULL,
    partition_type word_text,
    partition_name word_text,
    subpartition_type word_text,
    subpartition_name word_text,
    max_data_date_epoch3 bigint,
    max_data_key bigint,
    record_count bigint,
    source_datacenter text,
    source_deployment_env text,
    source_database text,
    source_table text,
    job_context text,
    project_name text,
    flow_name text,
    job_name text,
    flow_exec_id bigint,
    log_event_time event_ms NOT NULL,
    kafka_topic text NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    PRIMARY KEY (kafka_topic, kafka_partition, kafka_offset)
);

-- upsteam_timestamp is spelled as in WhereHows.
CREATE TABLE stg_kafka_gobblin_distcp (
    cluster word_text NOT NULL,
    dataset name_text NOT NULL,
    partition_type word_text,
    partition_name part_text NOT NULL,
    upsteam_timestamp bigint,
    origin_timestamp bigint,
    source_path text,
    target_path text,
    job_context text,
    project_name text,
    flow_name text,
    job_name text,
    flow_exec_id bigint,
    log_event_time event_ms NOT NULL,
    kafka_topic text NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    PRIMARY KEY (kafka_topic, kafka_partition, kafka_offset)
);

CREATE TABLE stg_kafka_metastore_audit (
    server word_text NOT NULL,
    instance word_text NOT NULL,
    app_name text NOT NULL,
    event_name text NOT NULL,
    event_type text NOT NULL,
    log_event_time event_ms NOT NULL,
    metastore_thrift_uri text,
    metastore_version text,
    is_successful boolean,
    is_data_deleted boolean,
    db_name word_text NOT NULL,
    table_name word_text NOT NULL,
    time_partition part_text NOT NULL,
    location text,
    owner word_text,
    create_time bigint,
    last_access_time bigint,
    old_info text,
    new_info text,
    kafka_topic text NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    PRIMARY KEY (kafka_topic, kafka_partition, kafka_offset)
);

-- WhereHows wrote the next three into its final tables directly.
CREATE TABLE stg_kafka_gobblin_audit (
    cluster word_text,
    dataset name_text NOT NULL,
    owner word_text,
    properties jsonb NOT NULL CHECK (jsonb_typeof(properties) = 'object'),
    source_modified_time bigint,
    log_event_time event_ms NOT NULL,
    kafka_topic text NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    PRIMARY KEY (kafka_topic, kafka_partition, kafka_offset)
);

-- A column that is null says nothing; an empty list or object says that there is none. The source is 'change' if null.
CREATE TABLE stg_kafka_metadata_change (
    urn dataset_urn NOT NULL,
    change_type text NOT NULL CHECK (change_type IN ('UPSERT', 'DELETE')),
    actor word_text,
    description text,
    properties jsonb CHECK (jsonb_typeof(properties) = 'object'),
    schema_fields jsonb CHECK (are_fields(schema_fields)),
    owners jsonb CHECK (are_owners(owners)),
    tags jsonb CHECK (are_short_texts(tags)),
    deprecated boolean,
    deprecation_note text,
    upstreams jsonb CHECK (are_dataset_urns(upstreams)),
    source text CHECK (source IN ('change', 'penstock')),
    log_event_time event_ms NOT NULL,
    kafka_topic text NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    PRIMARY KEY (kafka_topic, kafka_partition, kafka_offset)
);

CREATE TABLE stg_kafka_job_execution (
    application word_text NOT NULL,
    flow_name word_text NOT NULL,
    job_name word_text NOT NULL,
    execution_id word_text NOT NULL,
    status word_text NOT NULL,
    start_time event_ms,
    end_time event_ms,
    input_datasets jsonb NOT NULL CHECK (are_dataset_urns(input_datasets)),
    output_datasets jsonb NOT NULL CHECK (are_dataset_urns(output_datasets)),
    actor word_text,
    log_event_time event_ms NOT NULL,
    kafka_topic text NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    PRIMARY KEY (kafka_topic, kafka_partition, kafka_offset)
);

-- What retention has removed from staging: a rebuild could not bring it back.
CREATE TABLE staging_pruned (
    table_name text PRIMARY KEY,
    row_count bigint NOT NULL,
    until timestamptz NOT NULL
);
