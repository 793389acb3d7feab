"""The actions that come with Penstock: one file each, named in `registry.ACTIONS`."""
