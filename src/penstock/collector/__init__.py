"""REST API in front of topics. Validates events and answers after Kafka has acknowledged them."""
