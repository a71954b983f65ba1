# SPDX-License-Identifier: MIT
"""From figures to what people see. Pure, but for gnuplot. It imports base, stats, scenario, result
and analyse. It never works out a figure and never asks the client."""
