# SPDX-License-Identifier: Apache-2.0
"""Flavors from the configuration, one group ``[flavor:NAME]`` each."""

from collections.abc import Mapping

from oslo_config import cfg

from rpcapi.conf import pairs
from rpcapi.conf.named_groups import NamedItems
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.catalog import EMPTY, Catalog
from rpcapi.spec_builder.flavors import Flavor

PREFIX = "flavor:"
GROUP = f"{PREFIX}NAME"

OPTS = [
    cfg.IntOpt(
        "vcpus",
        required=True,
        min=0,
        max=MAX_AMOUNT,
        sample_default=2,
        help="Virtual CPUs (VCPU) of the flavor. The group name contains the flavor name: [flavor:c1.large] defines "
        "'c1.large'. A built-in flavor of the same name is replaced.",
    ),
    cfg.IntOpt(
        "memory_mb", required=True, min=0, max=MAX_AMOUNT, sample_default=4096, help="Memory (MEMORY_MB) in MiB."
    ),
    cfg.IntOpt("disk_gb", default=0, min=0, max=MAX_AMOUNT, help="Local disk (DISK_GB) in GiB; 0 requests none."),
    pairs.option(
        "extra_specs",
        default=[],
        sample_default=["trait:HW_CPU_X86_AVX2=required", "resources:CUSTOM_LICENCE=1", "hw:cpu_policy=dedicated"],
        help="Nova's extra specs as key=value, separated by commas; quote a pair whose value contains a comma. "
        "docs/requests.md describes their translation.",
    ),
]


def load(conf: cfg.ConfigOpts, catalog: Catalog = EMPTY) -> Mapping[str, Flavor]:
    """Return flavors by name; reading a flavor checks it with ``catalog``."""

    reader = pairs.PairReader(conf)

    def make(name: str, values: cfg.ConfigOpts.GroupAttr) -> Flavor:
        missing = [option for option in ("vcpus", "memory_mb") if values[option] is None]
        if missing:
            raise ValueError(f"lacks {' and '.join(missing)}")
        extra_specs = reader.read(f"{PREFIX}{name}", "extra_specs")
        flavor = Flavor(name, values.vcpus, values.memory_mb, values.disk_gb, extra_specs)
        build_spec(flavor, catalog=catalog)
        return flavor

    return NamedItems(conf, PREFIX, OPTS, make)
