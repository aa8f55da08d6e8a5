# SPDX-License-Identifier: Apache-2.0
"""Composition of the processes: builders that read the configuration and pass plain values to the parts."""
