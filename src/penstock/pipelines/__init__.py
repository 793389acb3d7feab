"""The declared data pipelines: from a file to the queries of Spark that it asks for."""
