"""Front of the registry: Confluent's API at the root of its port, in front of Apicurio."""
