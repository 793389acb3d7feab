"""The console: what Penstock knows, over HTTP on one port."""
