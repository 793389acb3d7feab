"""Settings and YAML files: everything is checked, whole, before anything connects."""

from penstock.config.secrets import PassThrough
from penstock.config.settings import Settings, load_settings

__all__ = ["PassThrough", "Settings", "load_settings"]
