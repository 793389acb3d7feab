"""The transformers that come with Penstock: one file each, named in `registry.TRANSFORMERS`."""
