# SPDX-License-Identifier: MIT
"""From figures to what people see. Pure, except that it runs gnuplot. It imports base, stats,
scenario, result, observe, contrast and decide. It computes no figure and never asks the client."""
