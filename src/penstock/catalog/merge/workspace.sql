-- The tables that a merge works in: of its session alone, and empty again after each commit.
CREATE TEMP TABLE IF NOT EXISTS batch_observation (
    urn text NOT NULL, aspect text NOT NULL, source text NOT NULL, seen_at timestamptz NOT NULL,
    value jsonb NOT NULL, digest bytea NOT NULL, actor text,
    kafka_topic text NOT NULL, kafka_partition integer NOT NULL, kafka_offset bigint NOT NULL
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_lineage (
    downstream_urn text NOT NULL, upstream_urn text NOT NULL, job_urn text NOT NULL, kind text NOT NULL,
    seen_at timestamptz NOT NULL
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_load (LIKE dataset_load_status) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_moment (name text NOT NULL, at timestamptz) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_series (
    urn text NOT NULL, cluster text NOT NULL, operation_type text NOT NULL, partition_grain text NOT NULL,
    record_count bigint, goes_on boolean NOT NULL
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_written (
    urn text, cluster text, operation_type text, partition_grain text, partition_expr text, record_count bigint,
    flow_exec_id bigint, log_time timestamptz
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_dataset (
    urn text PRIMARY KEY, first_seen timestamptz NOT NULL
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_touched (
    urn text PRIMARY KEY, seen_at timestamptz NOT NULL, actor text
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_shown (
    urn text NOT NULL, aspect text NOT NULL, value jsonb NOT NULL
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_rewritten (
    urn text NOT NULL, aspect text NOT NULL, source text NOT NULL, since timestamptz NOT NULL,
    PRIMARY KEY (aspect, urn, source)
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_said (
    urn text NOT NULL, aspect text NOT NULL, source text NOT NULL, rank smallint NOT NULL,
    seen_at timestamptz NOT NULL, value jsonb NOT NULL, PRIMARY KEY (urn, aspect, source)
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS batch_job (LIKE job_execution) ON COMMIT DELETE ROWS;
