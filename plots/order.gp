# SPDX-License-Identifier: MIT
# Run order: the ratio of every run to the median of its cell, over time.
# Settings: rounds (their number), outliers, failures (1: there are some).
# Columns of name.dat: time, in rounds; ratio; 1 if it is an outlier; the ratio as text. A run
# beyond the axis is drawn near its end, with this text. One block for each series, and one more
# with the times of failed runs.

eval framed(format, 21 + key_lines + title_lines + signs_lines)
eval ratio_tics('y', text ? 5 : (axes_top - axes_foot) * height / 45)
set xrange [0:rounds]
inset = (ratio_high / ratio_low) ** 0.05
within(y) = y < ratio_low ? ratio_low * inset : y > ratio_high ? ratio_high / inset : y
ring(y, outlier) = outlier == 1 ? within(y) : NaN
set xlabel "round".(text ? "\n".signs_text : "")
# A round has its number in its middle and a line at its end. Of many rounds some have numbers.
step = ceil(rounds / (text ? 20.0 : width * (axes_right - axes_left) / 33))
set xtics scale 0 ()
do for [r = 1:rounds:step] { set xtics add (sprintf("%d", r) r - 0.5) }
if (text) {
    plot for [i = 1:series] data index i-1 using 1:(within($2)) with points pt i title names[i], \
         for [i = 1:outliers * series] data index i-1 using 1:(ring($2, $3)) \
             :($2 > ratio_high ? "^" : $2 < ratio_low ? "v" : "*") \
             with labels left offset character 1,0 notitle, \
         for [i = 1:failures] data index series using 1:(ratio_low):("x") \
             with labels offset character 0,1 notitle
} else {
    set grid ytics lc rgb "#dddddd" lt 1
    do for [r = 1:rounds:step] {
        set arrow from first r - 1, graph 0 to first r - 1, graph 1 nohead back lc rgb "#dddddd"
    }
    plot 1 with lines lw 1.4 lc rgb "#555555" notitle, \
         for [i = 1:series] data index i-1 using 1:(within($2)) \
             with points pt points[i] ps 0.9 * grain lc rgb colours[i] title names[i], \
         for [i = 1:outliers * series] data index i-1 using 1:(ring($2, $3)) \
             with points pt 6 ps 2.2 * grain lw 1.6 lc rgb "#333333" notitle, \
         for [i = 1:outliers * series] data index i-1 using 1:(within($2)) \
             :($2 > ratio_high ? strcol(4) : "") with labels right \
             rotate by 90 offset character 0,-0.9 font sans(small_points) notitle, \
         for [i = 1:outliers * series] data index i-1 using 1:(within($2)) \
             :($2 < ratio_low ? strcol(4) : "") with labels left \
             rotate by 90 offset character 0,0.9 font sans(small_points) notitle, \
         for [i = 1:failures] data index series using 1:(ratio_low) \
             with points pt 2 ps 1.6 * grain lw 1.6 lc rgb "#333333" notitle
}
