# SPDX-License-Identifier: Apache-2.0
"""Pages of decisions: refusals over time, one decision explained, and dry runs."""

import argparse
import shlex
from collections.abc import Mapping
from typing import Any

from rpcapi.admin import boot_options
from rpcapi.dashboard import decision_log
from rpcapi.dashboard.cluster import CachedCluster, now_ms
from rpcapi.dashboard.pages import BadInput, Page, PageRequest

LISTED = 50
MINUTE_MS = 60_000
PERIODS = {"15": "15 minutes", "60": "hour", "360": "6 hours", "1440": "day"}
SHOWN_VERDICTS = 100
MAX_OPTIONS = 2000  # characters


class DecisionPages:
    def __init__(self, cluster: CachedCluster) -> None:
        self._cluster = cluster

    def refusals(self, request: PageRequest) -> Page:
        minutes = request.choice("minutes", PERIODS, "60")
        logs = self._cluster.decisions.get()
        refusals, now = decision_log.refusals(logs), now_ms()
        since = decision_log.known_since(logs)
        values = {
            "chart": decision_log.chart(refusals, now, int(minutes)),
            "known_since": since if since is not None and since > now - int(minutes) * MINUTE_MS else None,
            "minutes": minutes,
            "periods": PERIODS,
            "rows": refusals[:LISTED],
            "main_reason": decision_log.main_reason,
        }
        return Page("refusals.html", values)

    def show_all(self, request: PageRequest) -> Page:
        request_id = request.text("request_id")
        if request_id:
            return self.show(request, request_id)
        return Page("decisions.html", {"rows": decision_log.newest(self._cluster.decisions.get(), LISTED)})

    def show(self, request: PageRequest, request_id: str) -> Page:
        decision = request.session.call(request.session.scheduler.explain, request_id)
        return Page("decision.html", {"explained": _explain(decision)})

    def dry_run(self, request: PageRequest) -> Page:
        """Show a decision without claims like a recorded one, or only the form if no flavor is chosen."""
        form = {name: request.text(name) for name in ("flavor", "image", "az", "options")}
        count = request.number("count", 1, request.session.conf.rpc.max_instances)
        choices, session = self._cluster.choices.get(), request.session
        form["count"] = str(count)
        values = {"flavors": sorted(choices.flavors), "images": sorted(choices.images), "form": form}
        if not form["flavor"]:
            return Page("dry_run.html", {**values, "explained": None})
        session.flavors, session.images, session.catalog = choices.flavors, choices.images, choices.catalog
        spec = boot_options.make_spec(session, _boot_arguments(form))
        decision = session.call(session.scheduler.dry_run, spec, count)
        return Page("dry_run.html", {**values, "explained": _explain(decision)})


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise BadInput(f"The options of `gantt boot` have an error: {message}.")


def _boot_arguments(form: Mapping[str, str]) -> argparse.Namespace:
    if len(form["options"]) > MAX_OPTIONS:
        raise BadInput(f"options must have at most {MAX_OPTIONS} characters.")
    parser = _Parser(prog="gantt boot", add_help=False, allow_abbrev=False)
    boot_options.add_options(parser)
    words = ["--flavor", form["flavor"]]
    words += ["--image", form["image"]] if form["image"] else []
    words += ["--az", form["az"]] if form["az"] else []
    try:
        return parser.parse_args([*words, *shlex.split(form["options"])])
    except ValueError as error:
        raise BadInput(f"options cannot be read: {error}.") from None


def _explain(decision: Any) -> dict[str, Any]:
    document = decision.document
    spec = dict(document.get("spec") or {})
    verdicts = document.get("verdicts") or []
    return {
        "decision": decision,
        "document": document,
        "prefilters": spec.pop("rewritten", None) or {},
        "spec": spec,
        "reasons": sorted((document.get("reasons") or {}).items(), key=lambda item: (-item[1], item[0])),
        "verdicts": verdicts[:SHOWN_VERDICTS],
        "more_verdicts": max(0, len(verdicts) - SHOWN_VERDICTS),
    }
