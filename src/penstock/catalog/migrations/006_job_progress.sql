-- How far each query of a job has come: everything before the position is merged, and its dead letters are kept.
CREATE TABLE job_progress (
    query text PRIMARY KEY,
    owner text NOT NULL,
    position jsonb
);
