"""Scaffold of a user's action: the class, a test, and a pipeline for the action."""

from penstock.actions.scaffold.write import write_action

__all__ = ["write_action"]
