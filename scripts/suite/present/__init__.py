# SPDX-License-Identifier: MIT
"""From figures to what people see. Pure, except that it runs gnuplot. It imports base, stats,
scenario, result and analyse. It computes no figure and never asks the client."""
