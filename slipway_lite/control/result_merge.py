"""What a valid result leaves on its task, whatever step it leads to (control-plane §4.4, step 8 and 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control import retry, risk
from slipway_lite.control.draft import NO_PROOF
from slipway_lite.control.vocabulary import SIDE_EFFECTS, STALE_ORDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slipway_lite.control.draft import Draft

REF_LISTS = ("doc_refs", "chunk_refs", "ack_refs", "contract_refs")


def merge_result(draft: Draft, job: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    """Artifacts, references, verdict, failure data, side effects and proof of ``result`` onto ``draft``."""
    stage = job["stage"]
    if result["artifacts"]:
        draft.put("artifacts", [*draft.get("artifacts"), *map(_task_artifact, result["artifacts"])])
    _merge_refs(draft, result)
    for name in ("context_bundle_ref", "rollback_notes", "loop_fingerprint"):
        if result.get(name):
            draft.put(name, result[name])
    if "verdict" in result:
        said = result["verdict"]
        draft.put(
            "last_verdict",
            {name: said[name] for name in ("outcome", "reason", "manual_notes") if name in said},
        )
    if "retry_count" in result:
        draft.put("retry_counts", {**draft.get("retry_counts", {}), stage: result["retry_count"]})
    if result["status"] == "failed":
        failure_class = result.get("failure_class") or retry.classify(result.get("failure_code"), result.get("summary"))
        draft.put("last_failure_class", failure_class)
    _merge_side_effects(draft, result)
    for name, value in risk.patch_size(result).items():
        draft.put(name, value)
    if stage == "dev":
        level, reasons = risk.assess(risk.factors(result))
        draft.remember["risk"] = {"level": level, "reasons": reasons}
    _merge_proof(draft, result)
    for artifact in result["artifacts"]:
        draft.audit(
            "evidence.generated",
            {"evidence_id": artifact["artifact_id"], "evidence_type": artifact["kind"], "stage": stage},
            job_id=job["job_id"],
            actor_type="worker",
            actor_id=job["worker_type"],
        )
    if result["requested_escalations"]:
        asked = [
            {"kind": entry["kind"], "reason": entry["reason"], "approved": entry.get("approved", False)}
            for entry in result["requested_escalations"]
        ]
        draft.audit("run.permissionEscalated", {"escalations": asked, "stage": stage}, job_id=job["job_id"])


def _task_artifact(artifact: Mapping[str, Any]) -> dict[str, str]:
    kind = artifact["kind"]
    return {"artifact_id": artifact["artifact_id"], "kind": "other" if kind == "html" else kind}


def _merge_refs(draft: Draft, result: Mapping[str, Any]) -> None:
    said = result.get("resolver_refs")
    if said:
        known = dict(draft.get("resolver_refs", {}))
        for name in REF_LISTS:
            if said.get(name):
                known[name] = _union(known.get(name, ()), said[name])
        status = worse(known.get("stale_status"), said.get("stale_status"))
        if status is not None:
            known["stale_status"] = status
            if status == "stale":
                claimed = said.get("doc_refs") or known.get("doc_refs", ())
                draft.remember["stale_docs"] = _union(draft.recall("stale_docs", ()), claimed)
        draft.put("resolver_refs", known)
    if result.get("external_refs"):
        draft.put("external_refs", merged_refs(draft.get("external_refs"), result["external_refs"]))


def worse(known: str | None, said: str | None) -> str | None:
    """The worse of two stale statuses; a worker's "fresh" alone says nothing (§13, 6)."""
    if said is None or said == "fresh":
        return known
    return max(known or "fresh", said, key=STALE_ORDER.index)


def merged_refs(known: Iterable[Mapping[str, Any]], added: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """External references by value: one that is known already is not added again."""
    merged = list(known)
    values = {reference["value"] for reference in merged}
    for reference in added:
        if reference["value"] not in values:
            values.add(reference["value"])
            merged.append(reference)
    return merged


def _union(known: Iterable[str], added: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*known, *added]))


def _merge_side_effects(draft: Draft, result: Mapping[str, Any]) -> None:
    effects = result.get("detected_side_effects")
    if effects is None:
        asked = {entry["kind"] for entry in result["requested_escalations"]}
        effects = [category for category in SIDE_EFFECTS if category in asked]
    if effects:
        draft.put("detected_side_effects", _union(draft.get("detected_side_effects", ()), effects))


def _merge_proof(draft: Draft, result: Mapping[str, Any]) -> None:
    proof = dict(draft.recall("proof", NO_PROOF))
    proof["log"] = proof["log"] or any(artifact["kind"] == "log" for artifact in result["artifacts"])
    proof["regression"] = proof["regression"] or any(
        entry["suite"] == "regression" and entry["status"] == "passed" for entry in result["test_results"]
    )
    draft.remember["proof"] = proof
