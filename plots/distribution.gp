# SPDX-License-Identifier: MIT
# Distributions of requests: a line for each cell, over percentiles or as shares.
# Settings: shares (1: y is the share of requests that took at most x; 0: x is 1 / (1 - q) of the
# percentile q, and y its time), nine (points of a line for each nine), last (the highest x), low
# and high (of the axis of times), steep (1: it is logarithmic), label_x.
# Columns of name.dat: x, y. One block for each series. If rounds is 1, one more for each series,
# with the band of its rounds: x, low, high.

eval framed(format, 21 + key_lines + title_lines)
set xlabel label_x
columns = text ? 9 : (axes_right - axes_left) * width / 50
if (shares) {
    set xrange [low / 1.1:high * 1.1]
    set yrange [0:1]
    set ytics 0.25
    do for [share = 0:100:25] { set ytics add (sprintf("%d %%%%", share) share / 100.0) }
    if (steep) { set logscale x 10 }
    eval tics('x', low / 1.1, high * 1.1, steep, columns)
} else {
    set xrange [1:last * 1.15]
    set yrange [(steep ? low / 1.1 : 0):high * 1.1]
    set logscale x 10
    set xtics ()
    do for [n = 0:12:ceil(1.3 * log10(last) / columns)] {
        set xtics add (sprintf("%.12g", 100 - 100 / 10.0**n) 10.0**n)
    }
    if (steep) { set logscale y 10 }
    eval tics('y', steep ? low : 0, high, steep, text ? 6 : (axes_top - axes_foot) * height / 35)
}
if (text) {
    plot for [i = 1:shares * series] data index i-1 using 1:2 with steps lt 0 notitle, \
         for [i = 1:series] data index i-1 using 1:2 with points pt i title names[i]
} else {
    set grid xtics ytics lc rgb "#dddddd" lt 1
    if (shares) {
        plot for [i = 1:rounds * series] data index series+i-1 using 1:2:3 \
             with filledcurves fs solid noborder fc rgb "#c8".colours[i][2:7] notitle, \
             for [i = 1:series] data index i-1 using 1:2 \
             with steps lw 1.6 dt dashes[i] lc rgb colours[i] title names[i]
    } else {
        plot for [i = 1:rounds * series] data index series+i-1 using 1:2:3 \
             with filledcurves fs solid noborder fc rgb "#c8".colours[i][2:7] notitle, \
             for [i = 1:series] data index i-1 using 1:2 \
             with linespoints pointinterval nine pt points[i] ps 0.8 * grain \
             lw 1.6 dt dashes[i] lc rgb colours[i] title names[i]
    }
}
