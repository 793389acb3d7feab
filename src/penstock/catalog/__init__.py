"""The catalog: metadata arrives as events, is merged into one picture in PostgreSQL, and every change is told."""
