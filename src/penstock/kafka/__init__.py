"""Kafka: the only room that imports confluent_kafka."""
