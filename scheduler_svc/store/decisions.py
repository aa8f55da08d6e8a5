# SPDX-License-Identifier: Apache-2.0
"""The store's part of a decision record."""

from typing import Any

from scheduler_svc.core.records import BatchAnswer, ClaimBatch


def outcome(batch: ClaimBatch, answer: BatchAnswer) -> dict[str, Any]:
    """Return the store's part of a decision record: the verdict of each candidate that was tried."""
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


def record_bytes(request_id: str, text: str) -> int:
    """Return the size that a recorded decision counts with: its JSON, its two keys, and 200 bytes for their storage."""
    return len(text.encode()) + 2 * len(request_id.encode()) + 200
