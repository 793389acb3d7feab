"""Property tests may take as long as a busy machine makes them."""

from hypothesis import settings

settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")
