# SPDX-License-Identifier: MIT
"""Pictures of a result. Pure: settings and data as text, which commands/plot.py writes and has gnuplot draw.

    plot          which pictures a result has
    picture       what all of them share: strings for gnuplot, titles, series, tics
    bars, curve   a metric of every cell, beside each other or along an axis
    distribution  what percentiles and ecdf, pictures of histograms, share
"""
