-- Loads of partitions: what is not newer than what is known changes nothing, the rest is written and told.
WITH written AS (
    INSERT INTO dataset_load_status AS l SELECT * FROM batch_load
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
    'recordCount', b.record_count, 'executionId', b.flow_exec_id, 'recordCountBefore', (
        SELECT p.record_count FROM dataset_load_status p
        WHERE p.urn = b.urn AND p.log_time < b.log_time AND p.cluster = b.cluster
            AND p.operation_type = b.operation_type AND p.partition_grain = b.partition_grain
        ORDER BY p.log_time DESC LIMIT 1))), b.log_time
FROM batch_written b ORDER BY b.log_time;
