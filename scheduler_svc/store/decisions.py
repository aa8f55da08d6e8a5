# SPDX-License-Identifier: Apache-2.0
"""What the claim script adds to the record of a decision."""

from typing import Any

from scheduler_svc.store.records import Batch, BatchAnswer


def outcome(batch: Batch, answer: BatchAnswer) -> dict[str, Any]:
    """Return the store's own part of a decision record: what each candidate that was tried answered."""
    tried = {intent.consumer: [candidate.host for candidate in intent.candidates] for intent in batch.intents}
    return {
        "outcome": "selected" if answer.accepted else "refused",
        "answered_position": answer.position,
        "verdicts": [
            {
                "consumer": one.consumer,
                "answer": one.answer.value,
                "host": one.host,
                "tried": [
                    [host, verdict.value] for host, verdict in zip(tried[one.consumer], one.verdicts, strict=False)
                ],
            }
            for one in answer.prepared
        ],
    }
