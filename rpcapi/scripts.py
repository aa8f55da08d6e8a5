# SPDX-License-Identifier: Apache-2.0
"""Console scripts, which name the pip extra to install if it is missing."""

import importlib.util
import pkgutil
import sys
import warnings
from functools import partial


def _run(script: str, extra: str, package: str, target: str) -> int:
    """Run ``target``, ``module:function``, unless ``package`` of pip extra ``extra`` is missing."""
    if importlib.util.find_spec(package) is None:
        print(f"{script}: {package} is not installed; run: pip install 'gantt[{extra}]'", file=sys.stderr)
        return 1
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")  # raised when oslo.service finds it
    return int(pkgutil.resolve_name(target)())


gantt = partial(_run, "gantt", "cli", "cliff", "rpcapi.cli.main:main")
status = partial(_run, "gantt-status", "cli", "oslo_upgradecheck", "rpcapi.cli.status:main")
scheduler = partial(_run, "gantt-scheduler", "scheduler", "highspy", "scheduler_svc.cmd.scheduler:main")
nova_bridge = partial(_run, "gantt-nova-bridge", "scheduler", "highspy", "scheduler_svc.cmd.nova_bridge:main")
nova_config = partial(_run, "gantt-nova-config", "scheduler", "highspy", "scheduler_svc.cmd.nova_config:main")
placement = partial(_run, "gantt-placement", "placement", "keystonemiddleware", "scheduler_svc.cmd.placement:main")
placement_import = partial(
    _run, "gantt-placement-import", "placement", "keystonemiddleware", "scheduler_svc.cmd.placement_import:main"
)
placement_shadow = partial(
    _run, "gantt-placement-shadow", "placement", "keystonemiddleware", "scheduler_svc.cmd.placement_shadow:main"
)
conductor = partial(_run, "gantt-conductor", "conductor", "redis", "conductor.cmd.conductor:main")
compute = partial(_run, "gantt-compute", "compute", "oslo_service", "compute_agent.cmd.compute:main")
dashboard = partial(_run, "gantt-dashboard", "dashboard", "jinja2", "rpcapi.dashboard.daemon:main")
