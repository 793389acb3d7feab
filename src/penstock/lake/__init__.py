"""The lake's tables, read without Spark: what is there, and answers to questions in SQL."""
