# SPDX-License-Identifier: MIT
# Distributions of requests: a line for each cell, over percentiles or as shares.
# Settings: left, right, bottom, top, logarithmic_y, label_x, label_y, and as macros style (of the
# lines), tics_x, tics_y, and tics_x_text, tics_y_text (as many as text has room for).
# Columns of name.dat: x, y. One block for each series. If rounds is 1, one more for each series,
# with the band of its rounds: x, low, high.

eval framed(format, 21 + key_lines + title_lines)
set logscale x 10
if (logarithmic_y) { set logscale y 10 }
set xrange [left:right]
set yrange [bottom:top]
set xlabel label_x
if (text) {
    @tics_x_text
    @tics_y_text
    plot for [i = 1:style eq "steps" ? series : 0] data index i-1 using 1:2 with steps \
         lt 0 notitle, \
         for [i = 1:series] data index i-1 using 1:2 with points pt i title names[i]
} else {
    @tics_x
    @tics_y
    set ylabel label_y
    set grid xtics ytics lc rgb "#dddddd" lt 1
    plot for [i = 1:(rounds ? series : 0)] data index series+i-1 using 1:2:3 \
         with filledcurves fs solid noborder fc rgb "#c8".colours[i][2:7] notitle, \
         for [i = 1:series] data index i-1 using 1:2 with @style lw 1.6 dt dashes[i] \
         lc rgb colours[i] title names[i]
}
