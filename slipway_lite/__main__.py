"""``python -m slipway_lite`` is ``slipway``."""

from slipway_lite.cli.main import main

main()
