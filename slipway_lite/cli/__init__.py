"""The command line. Machine commands take the fast path of ``machine``; everything else is Typer, loaded when used."""
