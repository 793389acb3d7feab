"""Built-in actions: one file each, listed in `registry.ACTIONS`."""
