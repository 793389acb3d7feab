"""Event and record types of Penstock. The package imports neither Kafka nor Spark nor HTTP."""
