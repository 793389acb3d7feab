"""Changes of databases as Debezium writes them: envelopes in JSON or Avro, turned into typed rows."""
