"""A new action of the user's own: the class, a test of it, and a pipeline that runs it."""

from penstock.actions.scaffold.write import write_action

__all__ = ["write_action"]
