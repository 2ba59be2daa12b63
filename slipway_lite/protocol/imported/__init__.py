"""Runs that the published command line recorded: its journals read, verified, and kept as they are.

Its events (``event_version`` 2) say what changed; ours say what happened and derive the rest. Both kinds stand in one
journal of a Run, the imported ones first, and ``replay`` folds each by its own rules. Nothing here is imported before
an imported event is met.
"""
