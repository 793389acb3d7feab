"""Messages that are JSON: their shape, the strict reading of them, and what is wrong with those that do not fit."""
