# SPDX-License-Identifier: Apache-2.0
"""The parts of Keystone, Glance and Neutron that Nova needs, in memory: ``python -m devstack.nova.fakes PORT``."""
