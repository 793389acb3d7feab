"""Console: Penstock's information over HTTP, on one port."""
