"""Settings and YAML files. The whole configuration is checked before any connection is opened."""

from penstock.config.secrets import PassThrough
from penstock.config.settings import Settings, load_settings

__all__ = ["PassThrough", "Settings", "load_settings"]
