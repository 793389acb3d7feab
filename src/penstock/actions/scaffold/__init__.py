"""Scaffold of a user's action: the class, its test, and a pipeline that runs the action."""

from penstock.actions.scaffold.write import write_action

__all__ = ["write_action"]
