-- How many records the processor of a query left out on purpose, by reason.
ALTER TABLE job_progress ADD COLUMN left_out jsonb NOT NULL DEFAULT '{}';
