"""Host adapters: slipway installs itself into the AI coding hosts of a worktree.

``registry`` says what is generated for whom, ``render`` writes the texts, ``tree`` touches files without ever
following a link, ``ownership`` decides what is ours, ``plan`` decides what to change, ``transaction`` changes
it all or nothing. ``adapters`` (install, uninstall), ``listing`` and ``doctor`` are what the command line
calls. (machine-protocol §9)
"""
