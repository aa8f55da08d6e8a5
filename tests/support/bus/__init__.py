# SPDX-License-Identifier: Apache-2.0
"""Peers on a bus, in this process and in others."""
