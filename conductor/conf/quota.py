# SPDX-License-Identifier: Apache-2.0
"""Options of group [quota]: limits of projects."""

from collections.abc import Mapping

from oslo_config import cfg

from conductor.admission import INSTANCES, RECORDED, AdmissionLimits
from rpcapi import errors
from rpcapi.conf import pairs
from rpcapi.resources import vocabulary
from rpcapi.resources.inventory import MAX_AMOUNT

GROUP = "quota"
DEFAULT_RECORDED = 4_000_000  # records per project, about 1 kB each

OPTS = [
    pairs.option(
        "limits",
        default=[],
        sample_default=["instances=1000", "VCPU=4000", "MEMORY_MB=16000000"],
        mutable=True,
        help="Limits of each project, as NAME=LIMIT separated by commas. NAME is a resource class, instances, or "
        "recorded_instances: all kept records, including failed instances and, during [conductor_store] retention, "
        f"deleted ones; it also bounds the tombstones of their attempts. Default: {DEFAULT_RECORDED} "
        "recorded_instances. Missing names and limit -1 are unlimited. An instance counts until it is deleted, or is "
        "in ERROR without a claim. Claims of other services, such as through Placement's API, are not counted.",
    ),
    cfg.MultiStrOpt(
        "project_limits",
        default=[],
        sample_default=["PROJECT instances=5000, VCPU=-1"],
        mutable=True,
        help="Limits of one project, which replace limits of the same names; repeat the option for each project.",
    ),
]


def load(conf: cfg.ConfigOpts) -> AdmissionLimits:
    projects = {}
    for text in conf.quota.project_limits:
        project, _, limits = text.strip().partition(" ")
        if project in projects or not limits:
            raise errors.BadConfiguration(
                why=f"[{GROUP}] project_limits: {text!r} must be PROJECT NAME=LIMIT,..., with each project once"
            )
        label = f"[{GROUP}] project_limits of {project}"
        projects[project] = _limits(label, pairs.parse(label, limits.split(",")))
    default_limits = _limits(f"[{GROUP}] limits", pairs.PairReader(conf).read(GROUP, "limits"))
    default = {RECORDED: DEFAULT_RECORDED, **default_limits}
    return AdmissionLimits(default, projects, conf.conductor.max_backlog, conf.conductor.max_spec_bytes)


def _limits(label: str, texts: Mapping[str, str]) -> dict[str, int]:
    limits = {}
    for name, text in texts.items():
        try:
            if name not in (INSTANCES, RECORDED):
                vocabulary.check_resource_class(name)
            limits[name] = int(text)
        except (errors.UnknownResourceClass, ValueError) as error:
            raise errors.BadConfiguration(why=f"{label}: {name}={text}: {error}") from error
        if not -1 <= limits[name] <= MAX_AMOUNT:
            raise errors.BadConfiguration(why=f"{label}: {name}={text}: a limit is -1 (none) to {MAX_AMOUNT}")
    return limits
