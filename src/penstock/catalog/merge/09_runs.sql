-- Executions of jobs: the newest event has the status.
INSERT INTO batch_job
SELECT DISTINCT ON (job, execution_id) job, execution_id, application, flow_name, job_name, status,
    moment(min(start_time) OVER run), moment(max(end_time) OVER run), moment(log_event_time),
    kafka_topic, kafka_partition, kafka_offset
FROM (SELECT job_urn(application, flow_name, job_name) AS job, * FROM incoming_job_execution) AS execution
WINDOW run AS (PARTITION BY job, execution_id)
ORDER BY job, execution_id, log_event_time DESC, kafka_topic DESC, kafka_partition DESC, kafka_offset DESC;

-- Each status on the way is told, also where a batch has several of one execution; what comes late is history.
INSERT INTO outbox (urn, aspect, before, after, event_time)
SELECT job, 'run', to_jsonb(status_before), jsonb_build_object('executionId', execution_id, 'status', status), at
FROM (
    SELECT e.*, lag(e.status, 1, j.status::text) OVER (PARTITION BY e.job, e.execution_id
        ORDER BY e.at, e.kafka_topic, e.kafka_partition, e.kafka_offset) AS status_before
    FROM (
        SELECT job_urn(application, flow_name, job_name) AS job, execution_id, status::text, moment(log_event_time) AS at,
            kafka_topic, kafka_partition, kafka_offset
        FROM incoming_job_execution
    ) AS e LEFT JOIN job_execution j ON j.job_urn = e.job AND j.execution_id = e.execution_id
    WHERE j.status IS NULL OR (e.at, e.kafka_topic, e.kafka_partition, e.kafka_offset)
        > (j.event_time, j.kafka_topic, j.kafka_partition, j.kafka_offset)
) AS execution
WHERE status IS DISTINCT FROM status_before
ORDER BY at, kafka_topic, kafka_partition, kafka_offset;

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
