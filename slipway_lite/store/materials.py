"""Materials: texts that a Run accepted, stored once per content and never changed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slipway_lite.store.journal import Transaction


def store_material(tx: Transaction, material_sha256: str, text: str, at: str) -> None:
    """Keep ``text`` under its material digest, unless it is kept already."""
    known = tx.execute("select 1 from materials where material_sha256 = ?", (material_sha256,)).fetchone()
    if known is None:
        tx.append("materials", f"material:{material_sha256}", 1, at, material_sha256, len(text.encode()), text)
