# SPDX-License-Identifier: Apache-2.0
"""The compute agent: the only owner of the guests on a service host's nodes."""
