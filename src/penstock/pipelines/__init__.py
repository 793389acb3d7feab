"""Declared data pipelines: translate YAML files into Spark queries."""
