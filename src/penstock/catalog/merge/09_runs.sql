-- Executions of jobs: the newest event has the status. A status that is new is told.
INSERT INTO batch_job
SELECT DISTINCT ON (job, execution_id) job, execution_id, application, flow_name, job_name, status,
    moment(min(start_time) OVER run), moment(max(end_time) OVER run), moment(log_event_time),
    kafka_topic, kafka_partition, kafka_offset
FROM (SELECT job_urn(application, flow_name, job_name) AS job, * FROM incoming_job_execution) AS execution
WINDOW run AS (PARTITION BY job, execution_id)
ORDER BY job, execution_id, log_event_time DESC, kafka_topic DESC, kafka_partition DESC, kafka_offset DESC;

INSERT INTO outbox (urn, aspect, before, after, event_time)
SELECT b.job_urn, 'run', to_jsonb(j.status), jsonb_build_object('executionId', b.execution_id, 'status', b.status), b.event_time
FROM batch_job b LEFT JOIN job_execution j USING (job_urn, execution_id)
WHERE j.status IS NULL OR (j.status <> b.status AND (b.event_time, b.kafka_topic, b.kafka_partition, b.kafka_offset)
    > (j.event_time, j.kafka_topic, j.kafka_partition, j.kafka_offset))
ORDER BY b.event_time;

INSERT INTO job_execution AS j SELECT * FROM batch_job
ON CONFLICT (job_urn, execution_id) DO UPDATE SET
    start_time = least(j.start_time, EXCLUDED.start_time),
    end_time = greatest(j.end_time, EXCLUDED.end_time),
    (status, event_time, kafka_topic, kafka_partition, kafka_offset) = (
        SELECT told.* FROM (VALUES
            (j.status, j.event_time, j.kafka_topic, j.kafka_partition, j.kafka_offset),
            (EXCLUDED.status, EXCLUDED.event_time, EXCLUDED.kafka_topic, EXCLUDED.kafka_partition, EXCLUDED.kafka_offset)
        ) AS told (status, event_time, kafka_topic, kafka_partition, kafka_offset)
        ORDER BY event_time DESC, kafka_topic DESC, kafka_partition DESC, kafka_offset DESC LIMIT 1
    );
