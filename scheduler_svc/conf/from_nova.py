# SPDX-License-Identifier: Apache-2.0
"""Translation of nova-scheduler's options in nova.conf to gantt-scheduler's configuration.

Names and defaults are those of Nova 34 (nova/conf/scheduler.py and other modules of nova/conf).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import nova, prefilters
from scheduler_svc.conf.enabled import NOVA_FILTERS, NOVA_WEIGHERS, OWN_WEIGHERS, PLACEMENT_FILTERS
from scheduler_svc.core import built_in

Settings = Mapping[str, Mapping[str, Sequence[str]]]  # {section: {option: values in file order}}

ALL_FILTERS = "nova.scheduler.filters.all_filters"
ALL_WEIGHERS = "nova.scheduler.weights.all_weighers"
FILTER_MODULES, WEIGHER_MODULES = "nova.scheduler.filters.", "nova.scheduler.weights."

# Options with the same section and name in gantt.
SAME: Mapping[str, tuple[str, ...]] = {
    "scheduler": (
        *("workers", "limit_tenants_to_placement_aggregate", "placement_aggregate_required_for_tenants"),
        *("query_placement_for_image_type_support", "enable_isolated_aggregate_filtering", "image_metadata_prefilter"),
    ),
    "filter_scheduler": (
        *("host_subset_size", "max_io_ops_per_host", "max_instances_per_host", "image_properties_default_architecture"),
        *("isolated_images", "isolated_hosts", "restrict_isolated_hosts_to_isolated_images"),
        "aggregate_image_properties_isolation_namespace",
        "aggregate_image_properties_isolation_separator",
        "image_props_weight_setting",
        *(
            entry.option
            for entry in built_in.WEIGHERS
            if entry.name not in (*OWN_WEIGHERS, "MetricsWeigher", nova.UNCOUNTED_WEIGHER)
        ),
    ),
    "metrics": ("weight_setting", "weight_multiplier", "required", "weight_of_unavailable"),
}
# Options that gantt has in section [nova].
MOVED: Mapping[str, tuple[str, ...]] = {
    "DEFAULT": ("default_availability_zone", "service_down_time"),
    "scheduler": ("max_attempts",),
    "workarounds": ("disable_fallback_pcpu_query",),
    "oslo_concurrency": ("lock_path",),
}
BUILD_TIMEOUT = ("DEFAULT", "instance_build_timeout")  # seconds until Nova gives up a build; 0 means never
# Options without effect on placements, with the reason why gantt does not have them.
NEEDLESS: Mapping[str, Mapping[str, str]] = {
    "DEFAULT": {
        "rpc_response_timeout": "each call carries its caller's timeout",
        "long_rpc_timeout": "each call carries its caller's timeout",
        "report_interval": "computes report to Nova's databases as before",
    },
    "scheduler": {
        "discover_hosts_in_cells_interval": "run 'nova-manage cell_v2 discover_hosts' by a timer: see docs/nova.md",
        "max_placement_results": "gantt does not limit the number of candidates",
    },
    "filter_scheduler": {
        "track_instance_changes": "gantt counts claims instead of instances",
        "shuffle_best_same_weighed_hosts": "gantt always chooses randomly among hosts with the best score",
    },
}
# Options of other Nova services in sections that nova-scheduler reads.
OF_OTHERS: Mapping[str, tuple[str, ...]] = {
    "pci": ("alias", "device_spec", "passthrough_whitelist", "report_in_placement"),
}
SECTIONS = ("scheduler", "filter_scheduler", "metrics", "pci")  # sections in which an unknown option is refused


@dataclass
class Translation:
    """Sections of gantt's configuration, with messages about options that were not translated."""

    sections: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # messages about options without effect on placements
    refused: list[str] = field(default_factory=list)  # messages about untranslated options that affect placements

    def set(self, section: str, option: str, value: str) -> None:
        self.sections.setdefault(section, {})[option] = value


def read(paths: Sequence[str]) -> Settings:
    """Merge the files' settings; later files override earlier ones. Raises BadConfiguration for a malformed file."""
    settings: dict[str, dict[str, list[str]]] = {}
    for path in paths:
        sections: dict[str, dict[str, list[str]]] = {}
        try:
            cfg.ConfigParser(path, sections).parse()
        except (OSError, UnicodeDecodeError, cfg.ParseError) as error:
            raise errors.BadConfiguration(why=f"{path} cannot be read: {error}") from error
        for section, options in sections.items():
            settings.setdefault(section, {}).update(options)
    return settings


def translate(settings: Settings) -> Translation:
    translation = Translation()
    translation.set(nova.GROUP, "enabled", "true")
    _translate_filters(translation, settings)
    _translate_weighers(translation, settings)
    for section, options in settings.items():
        for option, values in options.items():
            _translate_option(translation, section, option, values)
    return translation


def _translate_option(translation: Translation, section: str, option: str, values: Sequence[str]) -> None:
    if option in SAME.get(section, ()):
        _copy(translation, section, section, option, values[-1])
    elif option in MOVED.get(section, ()):
        _copy(translation, section, nova.GROUP, option, values[-1])
    elif option in NEEDLESS.get(section, {}):
        translation.notes.append(f"[{section}] {option}: {NEEDLESS[section][option]}")
    elif (section, option) == BUILD_TIMEOUT:
        _translate_build_timeout(translation, values[-1])
    elif (section, option) in _CHECKS:
        reason = _CHECKS[section, option](values)
        if reason:
            translation.refused.append(f"[{section}] {option} = {values[-1]}: {reason}")
    elif section in SECTIONS and option not in OF_OTHERS.get(section, ()):
        translation.refused.append(f"[{section}] {option}: gantt does not know this option of Nova; is it a plugin's?")


def _translate_build_timeout(translation: Translation, value: str) -> None:
    """Raise gantt's build timeout to Nova's: while Nova still builds, no claim may count as a leak."""
    option = next(option for option in nova.OPTS if option.dest == "build_timeout")
    name = f"[DEFAULT] instance_build_timeout = {value}"
    try:
        seconds = option.type(value)
    except ValueError as error:
        unlimited = "Nova limits no build; " if value.strip() == "0" else f"{error}; "
        translation.notes.append(f"{name}: {unlimited}[nova] build_timeout stays {option.default:g} seconds")
        return
    if seconds > option.default:
        translation.set(nova.GROUP, option.dest, value)
    else:
        translation.notes.append(f"{name}: [nova] build_timeout stays {option.default:g} seconds")


def _copy(translation: Translation, section: str, target: str, option: str, value: str) -> None:
    check = _option_types().get((target, option))
    try:
        if check is not None:
            check(value)
    except ValueError as error:
        translation.refused.append(f"[{section}] {option} = {value}: {error}")
        return
    translation.set(target, option, value)


def _option_types() -> dict[tuple[str, str], Callable[[str], object]]:
    return {
        (module.GROUP, option.dest): option.type
        for module in scheduler_conf.MODULES
        for option in getattr(module, "OPTS", ())
    }


def _translate_filters(translation: Translation, settings: Settings) -> None:
    enabled = _split(settings.get("filter_scheduler", {}).get("enabled_filters"), NOVA_FILTERS)
    own = set(built_in.FILTER_NAMES) - set(nova.UNDECIDED_FILTERS)
    for name in enabled:
        if name in nova.UNDECIDED_FILTERS:
            why = "needs NUMA cells or PCI pools, which gantt does not read; nova-compute checks them"
        elif name not in own:
            why = "is not one of Nova's filters; write it as a plugin of gantt: see docs/plugins.md"
        else:
            continue
        translation.refused.append(f"[filter_scheduler] enabled_filters: {name} {why}")
    carried = dict.fromkeys([*PLACEMENT_FILTERS, *(name for name in enabled if name in own)])
    translation.set("filter_scheduler", "enabled_filters", ",".join(carried))


def _translate_weighers(translation: Translation, settings: Settings) -> None:
    classes = _split(settings.get("filter_scheduler", {}).get("weight_classes"), (ALL_WEIGHERS,))
    enabled: list[str] = []
    foreign: list[str] = []
    for path in classes:
        name = path.rpartition(".")[2]
        if path == ALL_WEIGHERS:
            enabled += NOVA_WEIGHERS
        elif path.startswith(WEIGHER_MODULES) and name in NOVA_WEIGHERS:
            enabled.append(name)
        else:
            foreign.append(path)
    if foreign:
        translation.refused.append(
            f"[filter_scheduler] weight_classes: {', '.join(foreign)} is not one of Nova's weighers; write it as a "
            "plugin of gantt: see docs/plugins.md"
        )
    if "MetricsWeigher" in enabled and not settings.get("metrics", {}).get("weight_setting"):
        enabled.remove("MetricsWeigher")  # no effect without metrics
    translation.set("filter_scheduler", "enabled_weighers", ",".join(dict.fromkeys(enabled)))


def _split(values: Sequence[str] | None, default: Sequence[str]) -> list[str]:
    if not values:
        return list(default)
    return [item.strip() for item in values[-1].split(",") if item.strip()]


def _check_available_filters(values: Sequence[str]) -> str:
    foreign = [value for value in values if value != ALL_FILTERS and not value.startswith(FILTER_MODULES)]
    return f"{', '.join(foreign)} is not one of Nova's; write it as a plugin of gantt" if foreign else ""


def _check_image_multiplier(values: Sequence[str]) -> str:
    try:
        is_off = float(values[-1]) == 0
    except ValueError:
        return "is not a number"
    return "" if is_off else "gantt does not count images of instances on Nova's hosts"


def _refuse_if_true(reason: str, values: Sequence[str]) -> str:
    return reason if values[-1].strip().lower() in ("true", "1", "yes", "on") else ""


# {(section, option): function that returns why the values cannot be translated, or ''}
_CHECKS: Mapping[tuple[str, str], Callable[[Sequence[str]], str]] = {
    ("DEFAULT", "servicegroup_driver"): lambda values: (
        "" if values[-1] == "db" else "gantt-nova-bridge supports only driver 'db'"
    ),
    ("filter_scheduler", "available_filters"): _check_available_filters,
    ("filter_scheduler", "enabled_filters"): lambda _values: "",
    ("filter_scheduler", "weight_classes"): lambda _values: "",
    ("filter_scheduler", "image_props_weight_multiplier"): _check_image_multiplier,
    ("filter_scheduler", "pci_in_placement"): partial(
        _refuse_if_true, "PCI devices as providers are not supported yet"
    ),
    (prefilters.GROUP, prefilters.ROUTED_NETWORKS): partial(
        _refuse_if_true, "it needs a Neutron client, which gantt does not have"
    ),
}
