-- A series of loads goes on where the batch has only partitions of it behind all that are known, loaded after all of them:
-- nothing stands in their way, and the load before each is the one before it in the batch.
INSERT INTO batch_series
SELECT s.urn, s.cluster, s.operation_type, s.partition_grain, newest.record_count,
    newest.log_time IS NULL OR s.since > newest.log_time AND s.first_partition > (
        SELECT max(partition_expr) FROM dataset_load_status
        WHERE urn = s.urn AND cluster = s.cluster AND operation_type = s.operation_type AND partition_grain = s.partition_grain)
FROM (
    SELECT urn, cluster, operation_type, partition_grain, min(log_time) AS since, min(partition_expr) AS first_partition
    FROM batch_load GROUP BY urn, cluster, operation_type, partition_grain
) AS s LEFT JOIN LATERAL (
    SELECT log_time, record_count FROM dataset_load_status
    WHERE urn = s.urn AND cluster = s.cluster AND operation_type = s.operation_type AND partition_grain = s.partition_grain
    ORDER BY log_time DESC LIMIT 1
) AS newest ON true;

ANALYZE batch_series;

INSERT INTO dataset_load_status
SELECT b.* FROM batch_load b JOIN batch_series s USING (urn, cluster, operation_type, partition_grain) WHERE s.goes_on;

-- Of the others, what is not newer than what is known changes nothing; the rest is written and told.
WITH written AS (
    INSERT INTO dataset_load_status AS l
    SELECT b.* FROM batch_load b JOIN batch_series s USING (urn, cluster, operation_type, partition_grain) WHERE NOT s.goes_on
    ON CONFLICT (urn, cluster, operation_type, partition_grain, partition_expr) DO UPDATE SET
        data_time = EXCLUDED.data_time, record_count = EXCLUDED.record_count,
        late_record_count = EXCLUDED.late_record_count, log_time = EXCLUDED.log_time, ref_uri = EXCLUDED.ref_uri,
        job_context = EXCLUDED.job_context, project_name = EXCLUDED.project_name, flow_name = EXCLUDED.flow_name,
        job_name = EXCLUDED.job_name, flow_exec_id = EXCLUDED.flow_exec_id, kafka_topic = EXCLUDED.kafka_topic,
        kafka_partition = EXCLUDED.kafka_partition, kafka_offset = EXCLUDED.kafka_offset
    WHERE (EXCLUDED.log_time, EXCLUDED.kafka_topic, EXCLUDED.kafka_partition, EXCLUDED.kafka_offset)
        > (l.log_time, l.kafka_topic, l.kafka_partition, l.kafka_offset)
    RETURNING l.urn, l.cluster, l.operation_type, l.partition_grain, l.partition_expr, l.record_count, l.flow_exec_id, l.log_time
)
INSERT INTO batch_written SELECT * FROM written;

INSERT INTO outbox (urn, aspect, after, event_time)
SELECT b.urn, 'load', jsonb_strip_nulls(jsonb_build_object(
    'operation', b.operation_type, 'cluster', b.cluster, 'grain', b.partition_grain, 'partition', b.partition_expr,
    'recordCount', b.record_count, 'executionId', b.flow_exec_id, 'recordCountBefore',
    CASE WHEN b.time_before < b.log_time THEN b.count_before ELSE (
        SELECT p.record_count FROM dataset_load_status p
        WHERE p.urn = b.urn AND p.log_time < b.log_time AND p.cluster = b.cluster
            AND p.operation_type = b.operation_type AND p.partition_grain = b.partition_grain
        ORDER BY p.log_time DESC LIMIT 1) END)), b.log_time
FROM (
    SELECT urn, cluster, operation_type, partition_grain, partition_expr, b.record_count, flow_exec_id, log_time,
        lag(log_time, 1, '-infinity') OVER series AS time_before,
        lag(b.record_count, 1, s.record_count) OVER series AS count_before
    FROM batch_load b JOIN batch_series s USING (urn, cluster, operation_type, partition_grain) WHERE s.goes_on
    WINDOW series AS (PARTITION BY urn, cluster, operation_type, partition_grain ORDER BY log_time)
    UNION ALL SELECT *, NULL, NULL FROM batch_written
) AS b ORDER BY b.log_time;
