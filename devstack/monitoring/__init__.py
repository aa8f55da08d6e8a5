# SPDX-License-Identifier: Apache-2.0
"""What operators watch gantt with: the page of metrics, alert rules and a Grafana dashboard."""
