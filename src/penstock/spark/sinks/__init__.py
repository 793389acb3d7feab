"""Where rows go: what a sink promises, and the sinks that are neither a lake's nor a mirror's."""
