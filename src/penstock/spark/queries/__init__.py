"""A query from start to end: where it begins, the path of each batch, its position, restarts, and how it fares."""
