-- The merge asks for the load before each one of a series: found at once, however many partitions a dataset has.
DROP INDEX dataset_load_status_by_time;
CREATE INDEX dataset_load_status_by_time
    ON dataset_load_status (urn, cluster, operation_type, partition_grain, log_time DESC);
