# SPDX-License-Identifier: Apache-2.0
"""The translation of nova.conf."""

from typing import Any

import pytest
from oslo_config import cfg

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.cmd import nova_config
from scheduler_svc.conf import from_nova

# The options of nova 34 in the sections that nova-scheduler reads, with values unlike the defaults.
NOVA_OPTIONS = {
    "scheduler": {
        "discover_hosts_in_cells_interval": "300",
        "enable_isolated_aggregate_filtering": "true",
        "image_metadata_prefilter": "true",
        "limit_tenants_to_placement_aggregate": "true",
        "max_attempts": "5",
        "max_placement_results": "100",
        "placement_aggregate_required_for_tenants": "true",
        "query_placement_for_image_type_support": "true",
        "query_placement_for_routed_network_aggregates": "false",
        "workers": "3",
    },
    "filter_scheduler": {
        "aggregate_image_properties_isolation_namespace": "ns",
        "aggregate_image_properties_isolation_separator": ":",
        "available_filters": "nova.scheduler.filters.all_filters",
        "build_failure_weight_multiplier": "1000",
        "cpu_weight_multiplier": "-1.5",
        "cross_cell_move_weight_multiplier": "2",
        "disk_weight_multiplier": "0",
        "enabled_filters": "ComputeFilter, NumInstancesFilter",
        "host_subset_size": "4",
        "hypervisor_version_weight_multiplier": "0.5",
        "image_properties_default_architecture": "aarch64",
        "image_props_weight_multiplier": "0.0",
        "image_props_weight_setting": "os_distro=2",
        "io_ops_weight_multiplier": "-2",
        "isolated_hosts": "h1,h2",
        "isolated_images": "8a40a8b6-3a39-4f5c-a4a5-6b0fbe04d6b0",
        "max_instances_per_host": "7",
        "max_io_ops_per_host": "3",
        "num_instances_weight_multiplier": "-1",
        "pci_in_placement": "false",
        "pci_weight_multiplier": "3",
        "ram_weight_multiplier": "2",
        "restrict_isolated_hosts_to_isolated_images": "false",
        "shuffle_best_same_weighed_hosts": "true",
        "soft_affinity_weight_multiplier": "2",
        "soft_anti_affinity_weight_multiplier": "2",
        "track_instance_changes": "false",
        "weight_classes": "nova.scheduler.weights.all_weighers",
    },
    "metrics": {
        "required": "false",
        "weight_multiplier": "2",
        "weight_of_unavailable": "-5",
        "weight_setting": "cpu.percent=-1.0",
    },
    "pci": {"alias": "{}", "device_spec": "{}", "report_in_placement": "true"},
    "workarounds": {"disable_fallback_pcpu_query": "true", "disable_rootwrap": "true"},
    "oslo_concurrency": {"lock_path": "/var/lib/nova/lock", "disable_process_locking": "false"},
    "DEFAULT": {
        "default_availability_zone": "zone-1",
        "long_rpc_timeout": "900",
        "report_interval": "20",
        "rpc_response_timeout": "30",
        "service_down_time": "120",
        "servicegroup_driver": "db",
        "debug": "true",
    },
}


def translate(**sections: dict[str, str]) -> from_nova.Translation:
    return from_nova.translate(
        {section: {name: [value] for name, value in options.items()} for section, options in sections.items()}
    )


@pytest.fixture(scope="module")
def whole() -> from_nova.Translation:
    return translate(**NOVA_OPTIONS)


def test_every_option_that_changes_placements_is_carried_over(whole: from_nova.Translation) -> None:
    assert whole.refused == []
    carried = {name for options in whole.sections.values() for name in options}
    explained = " ".join(whole.notes)
    for section in ("scheduler", "filter_scheduler", "metrics"):
        for name in NOVA_OPTIONS[section]:
            expected = name in carried or name in explained
            assert expected or (section, name) in from_nova._CHECKS, name
    assert whole.sections["nova"] == {
        "enabled": "true",
        "max_attempts": "5",
        "disable_fallback_pcpu_query": "true",
        "lock_path": "/var/lib/nova/lock",
        "default_availability_zone": "zone-1",
        "service_down_time": "120",
    }


def test_result_is_read_by_the_scheduler_with_the_same_values(whole: from_nova.Translation, tmp_path: Any) -> None:
    path = tmp_path / "gantt.conf"
    path.write_text(nova_config.render(whole))
    conf = cfg.ConfigOpts()
    scheduler_conf.register_opts(conf)
    conf(["--config-file", str(path)])
    scheduler_conf.check(conf)
    group = conf.filter_scheduler
    assert (group.host_subset_size, group.cpu_weight_multiplier, group.isolated_hosts) == (4, -1.5, ["h1", "h2"])
    assert (conf.scheduler.workers, conf.metrics.weight_of_unavailable, conf.metrics.required) == (3, -5.0, False)
    assert set(group.enabled_filters) == {*from_nova.PLACEMENT_FILTERS, "ComputeFilter", "NumInstancesFilter"}
    assert {"MetricsWeigher", "RAMWeigher", "BuildFailureWeigher"} <= set(group.enabled_weighers)
    assert not set(from_nova.OWN_WEIGHERS) & set(group.enabled_weighers)


def test_defaults_are_those_of_nova() -> None:
    sections = translate().sections
    filters = sections["filter_scheduler"]["enabled_filters"].split(",")
    assert filters == [*from_nova.PLACEMENT_FILTERS, *from_nova.NOVA_FILTERS]
    weighers = sections["filter_scheduler"]["enabled_weighers"].split(",")
    assert len(weighers) == 12  # Nova's 13 but the one for metrics, which has none to weigh


def test_weighers_by_their_classes() -> None:
    classes = "nova.scheduler.weights.ram.RAMWeigher,nova.scheduler.weights.pci.PCIWeigher"
    translation = translate(filter_scheduler={"weight_classes": classes})
    assert translation.sections["filter_scheduler"]["enabled_weighers"] == "RAMWeigher,PCIWeigher"
    assert translation.refused == []


@pytest.mark.parametrize(
    ("section", "option", "value", "word"),
    [
        ("filter_scheduler", "enabled_filters", "ComputeFilter,RackFilter", "RackFilter"),
        ("filter_scheduler", "enabled_filters", "ComputeFilter,NUMATopologyFilter", "NUMATopologyFilter"),
        ("filter_scheduler", "weight_classes", "acme.weights.RackWeigher", "acme.weights.RackWeigher"),
        ("filter_scheduler", "weight_classes", "acme.weights.RAMWeigher", "acme.weights.RAMWeigher"),
        ("filter_scheduler", "available_filters", "acme.filters.all", "acme.filters.all"),
        ("filter_scheduler", "rack_weight_multiplier", "2", "rack_weight_multiplier"),
        ("filter_scheduler", "pci_in_placement", "yes", "PCI"),
        ("filter_scheduler", "host_subset_size", "many", "many"),
        ("filter_scheduler", "image_props_weight_multiplier", "-0.5", "images"),
        ("filter_scheduler", "image_props_weight_multiplier", "much", "not a number"),
        ("scheduler", "query_placement_for_routed_network_aggregates", "True", "Neutron"),
        ("DEFAULT", "servicegroup_driver", "mc", "db"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(section: str, option: str, value: str, word: str) -> None:
    (refusal,) = translate(**{section: {option: value}}).refused
    assert f"[{section}] {option}" in refusal
    assert word in refusal


@pytest.mark.parametrize(("value", "carried"), [("7200", "7200"), ("1801", "1801"), ("600", None), ("0", None)])
def test_no_claim_is_a_leak_before_nova_gives_its_build_up(value: str, carried: str | None) -> None:
    translation = translate(DEFAULT={"instance_build_timeout": value})
    assert translation.refused == []
    assert translation.sections["nova"].get("build_timeout") == carried
    assert any("instance_build_timeout" in note for note in translation.notes) == (carried is None)


@pytest.mark.parametrize("value", ["100000", "long"])
def test_build_timeout_that_gantt_cannot_have_is_noted(value: str) -> None:
    translation = translate(DEFAULT={"instance_build_timeout": value})
    (note,) = translation.notes
    assert f"[DEFAULT] instance_build_timeout = {value}" in note
    assert "stays 1800 seconds" in note
    assert translation.refused == []
    assert "build_timeout" not in translation.sections["nova"]


def test_all_available_filters_are_checked_and_not_the_last_alone() -> None:
    values = {"filter_scheduler": {"available_filters": ["acme.filters.all", from_nova.ALL_FILTERS]}}
    assert len(from_nova.translate(values).refused) == 1


def test_later_files_override_earlier_ones(tmp_path: Any) -> None:
    first, second = tmp_path / "nova.conf", tmp_path / "local.conf"
    first.write_text("[filter_scheduler]\nhost_subset_size = 2\nmax_io_ops_per_host = 5\n")
    second.write_text("[filter_scheduler]\nhost_subset_size = 3\n")
    settings = from_nova.read([str(first), str(second)])
    assert settings["filter_scheduler"] == {"host_subset_size": ["3"], "max_io_ops_per_host": ["5"]}


def test_unreadable_files_are_refused_by_name(tmp_path: Any) -> None:
    malformed = tmp_path / "nova.conf"
    malformed.write_text("[filter_scheduler\n")
    for path in (malformed, tmp_path / "missing.conf"):
        with pytest.raises(errors.BadConfiguration, match=path.name):
            from_nova.read([str(path)])


def test_exit_code_tells_whether_placements_would_differ(tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "nova.conf"
    path.write_text("[scheduler]\nmax_placement_results = 10\n")
    assert nova_config.main([str(path)]) == 0
    printed = capsys.readouterr()
    assert "[filter_scheduler]" in printed.out
    assert "max_placement_results" in printed.err
    path.write_text("[DEFAULT]\nservicegroup_driver = mc\n")
    assert nova_config.main([str(path)]) == nova_config.REFUSED
    assert "servicegroup_driver" in capsys.readouterr().err
    assert nova_config.main([str(tmp_path / "missing.conf")]) == nova_config.INVALID
    assert "missing.conf" in capsys.readouterr().err
