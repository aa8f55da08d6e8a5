# SPDX-License-Identifier: Apache-2.0
"""The sizes of a store on the wire."""

from rpcapi import objects
from rpcapi.bounds import CollectionSize


def test_sizes_are_the_same_after_conversion() -> None:
    sizes = {"claims": CollectionSize(1, 900, 1000), "log": CollectionSize(5, 60, 100, True)}
    assert objects.StoreSizes.of_sizes(sizes).sizes == sizes
