# SPDX-License-Identifier: MIT
"""From figures to what people see: tables, pictures, pages, blocks for mails. Pure, but for
gnuplot. It imports base, stats, scenario, result and analyse. It never works out a figure and never
asks the client."""
