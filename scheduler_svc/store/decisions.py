# SPDX-License-Identifier: Apache-2.0
"""Parts of a decision record that the store adds or computes."""

from collections.abc import Mapping
from typing import Any

from scheduler_svc.core.records import BatchAnswer, ClaimBatch


def outcome(batch: ClaimBatch, answer: BatchAnswer) -> dict[str, Any]:
    """Return the members that the store adds to a decision record: its answer, and each candidate's verdict."""
    candidates = {intent.consumer: [candidate.host for candidate in intent.candidates] for intent in batch.intents}
    return {
        "outcome": "selected" if answer.accepted else "refused",
        "answered_position": answer.position,
        "verdicts": [
            {
                "consumer": result.consumer,
                "answer": result.answer.value,
                "host": result.host,
                "tried": [
                    [host, verdict.value]
                    for host, verdict in zip(candidates[result.consumer], result.verdicts, strict=False)
                ],
            }
            for result in answer.prepared
        ],
    }


def project_of(document: Mapping[str, Any]) -> str:
    project = document.get("project")
    return project if isinstance(project, str) else ""


def record_bytes(request_id: str, project: str, text: str) -> int:
    """Return the bytes that a decision counts in the record: JSON, index keys and 200 bytes of overhead."""
    request_bytes, project_bytes = len(request_id.encode()), len(project.encode())
    by_project = request_bytes + 2 * project_bytes if project else 0
    return len(text.encode()) + 2 * request_bytes + by_project + 200
