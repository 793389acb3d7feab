"""Changes of databases into tables of the lake: as a log, as a mirror, as a history."""
