"""The registry's face: Confluent's API at the root of its port, in front of Apicurio."""
