# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement's model on the store, without HTTP: providers and allocations by UUID."""
