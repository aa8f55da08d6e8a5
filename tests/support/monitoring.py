# SPDX-License-Identifier: Apache-2.0
"""The alert rules, and the metrics that the services declare."""

import re

import yaml

from devstack.deploy.monitoring import metrics_page, prometheus

RULES = yaml.safe_load(prometheus.RULES.read_text())["groups"][0]["rules"]
OF_OTHERS = {"up", "process_cpu_seconds_total", "process_resident_memory_bytes"}  # of Prometheus and its client


def declared() -> set[str]:
    page = metrics_page.text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.M)
    assert len(rows) > 60
    names = {name for name, _ in rows}
    suffixes = {
        f"{name}_{suffix}" for name, kind in rows if kind == "histogram" for suffix in ("bucket", "sum", "count")
    }
    return names | suffixes | OF_OTHERS
