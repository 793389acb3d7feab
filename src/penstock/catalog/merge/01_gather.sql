-- What the rows of the batch say, in the terms of the catalog: aspects, lineage, loads, and the datasets they name.

INSERT INTO batch_observation
SELECT DISTINCT ON (urn, aspect, source, seen_at)
    urn, aspect, source, seen_at, value, sha256(convert_to(value::text, 'UTF8')), actor,
    kafka_topic, kafka_partition, kafka_offset
FROM (
    SELECT m.urn, a.aspect, coalesce(m.source, 'change') AS source, moment(m.log_event_time) AS seen_at, a.value, m.actor,
        m.kafka_topic, m.kafka_partition, m.kafka_offset
    FROM incoming_metadata_change m CROSS JOIN LATERAL (VALUES
        ('status', jsonb_build_object('removed', m.change_type = 'DELETE')),
        ('description', to_jsonb(m.description)),
        ('properties', m.properties),
        ('schema', m.schema_fields),
        ('owners', m.owners),
        ('tags', m.tags),
        ('upstreams', m.upstreams),
        ('deprecation', CASE WHEN m.deprecated IS NOT NULL THEN
            jsonb_build_object('deprecated', m.deprecated, 'note', m.deprecation_note) END)
    ) AS a (aspect, value)
    WHERE a.value IS NOT NULL AND (m.change_type = 'UPSERT' OR a.aspect = 'status')
    UNION ALL
    SELECT hive_urn(m.db_name, m.table_name), a.aspect, 'metastore', moment(m.log_event_time), a.value, NULL,
        m.kafka_topic, m.kafka_partition, m.kafka_offset
    FROM incoming_metastore_audit m CROSS JOIN LATERAL (VALUES
        ('status', jsonb_build_object('removed', m.event_type = 'DROP_TABLE')),
        ('properties', CASE WHEN m.location IS NOT NULL THEN jsonb_build_object('location', m.location) END),
        ('owners', CASE WHEN m.owner <> '' THEN
            jsonb_build_array(jsonb_build_object('owner', m.owner, 'type', 'TECHNICAL_OWNER')) END)
    ) AS a (aspect, value)
    WHERE m.event_name = 'MetastoreTableAuditEvent' AND coalesce(m.is_successful, true) AND a.value IS NOT NULL
    UNION ALL
    SELECT hdfs_urn(f.dataset), a.aspect, 'files', moment(f.log_event_time), a.value, NULL,
        f.kafka_topic, f.kafka_partition, f.kafka_offset
    FROM incoming_gobblin_audit f CROSS JOIN LATERAL (VALUES
        ('properties', f.properties),
        ('owners', CASE WHEN f.owner <> '' THEN
            jsonb_build_array(jsonb_build_object('owner', f.owner, 'type', 'TECHNICAL_OWNER')) END)
    ) AS a (aspect, value)
    WHERE a.value IS NOT NULL
) AS said
ORDER BY urn, aspect, source, seen_at, kafka_topic DESC, kafka_partition DESC, kafka_offset DESC;

-- Only jobs that succeeded have moved data, and nothing comes from itself.
INSERT INTO batch_lineage
SELECT down.urn, up.urn, job_urn(j.application, j.flow_name, j.job_name), 'TRANSFORMED', moment(j.log_event_time)
FROM incoming_job_execution j,
    jsonb_array_elements_text(j.output_datasets) AS down (urn),
    jsonb_array_elements_text(j.input_datasets) AS up (urn)
WHERE j.status = 'SUCCEEDED' AND down.urn <> up.urn
UNION ALL
SELECT hdfs_urn(down.path), hdfs_urn(up.path), '', 'COPY', moment(c.log_event_time)
FROM incoming_gobblin_distcp c,
    LATERAL dataset_path(c.target_path) AS down (path), LATERAL dataset_path(c.source_path) AS up (path)
WHERE down.path <> up.path AND is_dataset_urn(hdfs_urn(down.path)) AND is_dataset_urn(hdfs_urn(up.path));

-- Partitions of many datasets have the same name, so each name is understood once.
INSERT INTO batch_moment
SELECT name, data_time(name) FROM (
    SELECT partition_name FROM incoming_gobblin_compaction
    UNION SELECT partition_name FROM incoming_gobblin_lumos
    UNION SELECT partition_name FROM incoming_gobblin_distcp
    UNION SELECT time_partition FROM incoming_metastore_audit
) AS partitions (name) WHERE name IS NOT NULL;

ANALYZE batch_moment;

-- Of several events on one partition the newest counts.
INSERT INTO batch_load
SELECT DISTINCT ON (urn, cluster, operation_type, partition_grain, partition_expr) *
FROM (
    SELECT hdfs_urn(dataset) AS urn, cluster, 'compact' AS operation_type, coalesce(partition_type, '') AS partition_grain,
        coalesce(partition_name, '') AS partition_expr, m.at, record_count, late_record_count,
        moment(log_event_time) AS log_time, NULL AS ref_uri, job_context, project_name, flow_name, job_name, flow_exec_id,
        kafka_topic, kafka_partition, kafka_offset
    FROM incoming_gobblin_compaction LEFT JOIN batch_moment m ON m.name = partition_name
    UNION ALL
    SELECT hdfs_urn(dataset), cluster, 'publish', CASE subpartition_type WHEN '_delta' THEN 'delta' ELSE coalesce(partition_type, '') END,
        concat_ws('/', partition_name, subpartition_name),
        coalesce(CASE WHEN max_data_date_epoch3 BETWEEN 1 AND 253402300799999 THEN moment(max_data_date_epoch3) END,
            m.at),
        record_count, NULL, moment(log_event_time), source_database || '.' || source_table,
        job_context, project_name, flow_name, job_name, flow_exec_id, kafka_topic, kafka_partition, kafka_offset
    FROM incoming_gobblin_lumos LEFT JOIN batch_moment m ON m.name = partition_name
    UNION ALL
    SELECT hdfs_urn(dataset), cluster, 'copy', coalesce(partition_type, ''), partition_name, m.at,
        NULL, NULL, moment(log_event_time), source_path,
        job_context, project_name, flow_name, job_name, flow_exec_id, kafka_topic, kafka_partition, kafka_offset
    FROM incoming_gobblin_distcp LEFT JOIN batch_moment m ON m.name = partition_name
    UNION ALL
    SELECT hive_urn(db_name, table_name), server,
        CASE event_type WHEN 'DROP_PARTITION' THEN 'delete' WHEN 'ALTER_PARTITION' THEN 'update' ELSE 'load' END,
        '', time_partition, m.at, NULL, NULL, moment(log_event_time), location,
        event_type, NULL, NULL, NULL, NULL, kafka_topic, kafka_partition, kafka_offset
    FROM incoming_metastore_audit LEFT JOIN batch_moment m ON m.name = time_partition
    WHERE event_name = 'MetastorePartitionAuditEvent' AND coalesce(is_successful, true)
) AS loads
ORDER BY urn, cluster, operation_type, partition_grain, partition_expr,
    log_time DESC, kafka_topic DESC, kafka_partition DESC, kafka_offset DESC;

INSERT INTO batch_dataset
SELECT urn, min(seen_at) FROM (
    SELECT urn, seen_at FROM batch_observation
    UNION ALL SELECT downstream_urn, seen_at FROM batch_lineage
    UNION ALL SELECT upstream_urn, seen_at FROM batch_lineage
    UNION ALL SELECT jsonb_array_elements_text(value), seen_at FROM batch_observation WHERE aspect = 'upstreams'
    UNION ALL SELECT jsonb_array_elements_text(input_datasets || output_datasets), moment(log_event_time) FROM incoming_job_execution
    UNION ALL SELECT hdfs_urn(dataset), moment(min(log_event_time)) FROM incoming_gobblin_compaction GROUP BY dataset
    UNION ALL SELECT hdfs_urn(dataset), moment(log_event_time) FROM incoming_gobblin_lumos
    UNION ALL SELECT hdfs_urn(dataset), moment(log_event_time) FROM incoming_gobblin_distcp
    UNION ALL SELECT hive_urn(db_name, table_name), moment(log_event_time) FROM incoming_metastore_audit WHERE coalesce(is_successful, true)
) AS named GROUP BY urn;

ANALYZE batch_observation, batch_lineage, batch_load, batch_dataset;
