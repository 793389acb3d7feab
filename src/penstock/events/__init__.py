"""What flows through Penstock, as plain types: nothing here imports Kafka, Spark or HTTP."""
