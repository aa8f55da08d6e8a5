# SPDX-License-Identifier: Apache-2.0
"""Programs of Prometheus, and its configuration to scrape a development cluster's daemons."""

import json
from collections.abc import Mapping
from pathlib import Path

from devstack.servers import server
from devstack.servers.ports import LOOPBACK

RULES = Path(__file__).with_name("alerts.yml")
SCRAPE_INTERVAL = "5s"


def find_program(name: str) -> str:
    """Return the path of ``prometheus`` or ``promtool``. Raises BinaryMissing."""
    return server.find_program(name, "prometheus")


def configuration(ports: Mapping[str, int]) -> str:
    """Return prometheus.yml as JSON, which is valid YAML; ``ports`` maps daemons to exporter ports."""
    targets = [
        {"targets": [f"{LOOPBACK}:{port}"], "labels": {"daemon": f"gantt-{name}"}} for name, port in ports.items()
    ]
    document = {
        "global": {"scrape_interval": SCRAPE_INTERVAL, "evaluation_interval": SCRAPE_INTERVAL},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "gantt", "static_configs": targets}],
    }
    return json.dumps(document, indent=1) + "\n"
