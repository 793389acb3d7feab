"""The REST API in front of topics: events are checked at the gate, and in Kafka when the answer comes."""
