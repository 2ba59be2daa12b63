"""Every target, by name."""

from __future__ import annotations

from tests.adversarial.fuzz import (
    control_targets,
    edge_targets,
    http_targets,
    imported_targets,
    protocol_targets,
    turn_targets,
)
from tests.adversarial.fuzz.target import Target

_MODULES = (protocol_targets, imported_targets, turn_targets, control_targets, edge_targets, http_targets)

TARGETS: dict[str, Target] = {target.name: target for module in _MODULES for target in module.TARGETS}
