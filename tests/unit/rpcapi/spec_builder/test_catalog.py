# SPDX-License-Identifier: Apache-2.0
"""The configuration that the request builder uses."""

from rpcapi.spec_builder.catalog import EMPTY, Catalog


def test_empty_catalog_knows_no_device_and_the_large_page_of_x86():
    assert (EMPTY.aliases, EMPTY.profiles, EMPTY.large_page_kb) == ({}, {}, 2048)


def test_catalogs_share_no_defaults():
    first, second = Catalog(), Catalog()
    assert first == second
    assert first.aliases is not second.aliases
