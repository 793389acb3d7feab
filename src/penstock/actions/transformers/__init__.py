"""Built-in transformers: one file each, listed in `registry.TRANSFORMERS`."""
