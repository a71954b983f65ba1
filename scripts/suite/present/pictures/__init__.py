# SPDX-License-Identifier: MIT
"""Pictures of a result. Pure: settings and data as text, which gnuplot.py writes and has drawn.

    plot             which pictures a result has
    picture          what all of them share: strings for gnuplot, titles, series, tics
    bars, curve      a metric of every cell, beside each other or along an axis
    counts           bars of everything that is counted, a panel for each
    order            every run where it stood in time
    compared         what heatmap and forest, pictures of comparisons, share
    distribution     what percentiles and ecdf, pictures of histograms, share
"""
