"""The machine protocol v2 (seed 000): Runs, Actions, Outcomes, and what comes next.

Pure: ``outcome rules run route next context briefs summary difference`` and ``source``. Edges: ``git workspace
observation`` watch the repository, ``service`` runs one use case in one transaction.
"""
