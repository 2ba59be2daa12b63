"""The one file: connection, migrations, ledger, journals, materials, projections, verification.

Layers above import the submodule they need; this package imports nothing, so that a start stays cheap.
"""
