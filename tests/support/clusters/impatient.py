# SPDX-License-Identifier: Apache-2.0
"""Settings with short time-outs, so that recovery takes seconds rather than minutes."""

# Short time-outs, so that recovery takes seconds rather than minutes.
IMPATIENT = {
    "scheduler": {
        "scheduler": {"claim_ttl": 4},
        "store": {"audit_grace": 2, "collect_timeout": 5, "reap_interval": 0.5, "service_down_time": 600},
    },
    "conductor": {
        "DEFAULT": {"worker_hang_timeout": 600},
        "rpc": {"call_timeout": 3, "call_monitor_timeout": 3},
        "conductor": {"build_timeout": 5, "recast_interval": 1, "lease": 3, "pump_interval": 0.2},
    },
    "compute": {
        "DEFAULT": {"worker_hang_timeout": 600},
        "compute": {"call_timeout": 2, "retry_interval_max": 0.5, "report_interval": 0.5},
    },
}
