# SPDX-License-Identifier: Apache-2.0
"""Monitoring of gantt: metrics page, alert rules and Grafana dashboard."""
