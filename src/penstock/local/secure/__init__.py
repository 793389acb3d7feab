"""`penstock up --secure`: TLS with a local CA, SCRAM users with ACLs, and a settings file for each user."""

from penstock.local.secure.secured import secured
from penstock.local.secure.users import ADMIN, USERS, settings_file

__all__ = ["ADMIN", "USERS", "secured", "settings_file"]
