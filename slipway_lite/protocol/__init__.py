"""The machine protocol v2 (seed 000): Runs, Actions, Outcomes, and what comes next.

Pure: ``outcome`` and ``rules`` take in what a host reports, ``commands`` and ``resume`` decide, ``fold`` and
``fold_source`` carry an event into a ``run``, and ``action``, ``brief``, ``context``, ``summary``, ``next`` and
``documents`` say what follows; ``source`` reads GitHub Changes. Edges: ``git``, ``workspace`` and ``observation`` watch
the repository, ``replay`` reads journals back, ``service`` and ``reading`` run one use case each. ``imported`` takes in
the Runs of the published command line.
"""
