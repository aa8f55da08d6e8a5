# SPDX-License-Identifier: Apache-2.0
"""Fakes of Keystone, Glance and Neutron for Nova, in memory: ``python -m devstack.nova.fakes PORT``."""
