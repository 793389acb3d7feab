"""The sink protocol, the Kafka sink and the console sink; lake and mirror sinks have their own folders."""
