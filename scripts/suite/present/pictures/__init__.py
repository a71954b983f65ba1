# SPDX-License-Identifier: MIT
"""Pictures of a result. Pure: settings and data as text, which gnuplot.py writes and draws.

    plot             which pictures a result has
    parts            what all of them share: strings for gnuplot, titles, signs, series, tics
    bars, curve      a metric of every cell, side by side or along an axis
    counts           bars of everything that is counted, a panel for each
    order            every run at its place in time
    heatmap, forest  comparisons; both use compared
    percentiles      histograms of all requests, as quantiles; uses distribution
    ecdf             histograms of all requests, as shares; uses distribution

A new kind is one file and one line: KIND.py here has `draw(matrix, picture) -> list[Drawing]`, and
PICTURES in scenario/scenario.py has KIND with the key that chooses what it shows. Its drawings name
a template of plots/; a kind that needs a new one brings plots/KIND.gp too. plots/start.gp, with
formats, headline and signs, stands in front of each.
"""
