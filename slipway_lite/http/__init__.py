"""The control plane over HTTP: FastAPI under ``/v1``, with one ErrorResponse shape for every error."""
