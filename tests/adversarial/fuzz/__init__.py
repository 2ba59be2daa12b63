"""Fuzzing of every decoder: bytes in, and nothing but a value or a documented refusal out.

``target`` says what a target is and judges one execution, the ``*_targets`` modules hold one target per decoder,
``table`` all of them. ``mutation`` makes new inputs from old ones, with or without atheris; ``campaign`` runs every
target for so many executions; ``corpus`` holds what one found worth keeping, in ``seeds/``, and ``collect`` chooses it.
``measure`` looks at time and memory.
"""
