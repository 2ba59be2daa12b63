"""slipway-lite: one SQLite file that remembers what coding agents did."""

__version__ = "0.1.0"
