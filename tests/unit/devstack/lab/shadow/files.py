# SPDX-License-Identifier: Apache-2.0
"""Decision records for the tests."""

import json


def record(request_id="req-1", hosts=None, outcome="selected", **more):
    """Return a record; ``hosts`` maps consumers to hosts."""
    host_by_consumer = {"c-1": "h1"} if hosts is None else hosts
    verdicts = [{"consumer": consumer, "host": host} for consumer, host in host_by_consumer.items()]
    return {"request_id": request_id, "outcome": outcome, "verdicts": verdicts, **more}


def refused(request_id="req-1", **more):
    """Return the record of a refusal."""
    return record(request_id, more.pop("hosts", {"c-1": None}), "refused", **more)


def best(**scores):
    """Return the best hosts with these scores, given by one weigher."""
    return [{"name": name, "score": score, "weights": {"ram": score}} for name, score in scores.items()]


def write(path, *records):
    """Write records, one per line."""
    path.write_text("".join(json.dumps(decision) + "\n" for decision in records))
    return path
