"""Actions: source, filter, transform, act, acknowledge."""
