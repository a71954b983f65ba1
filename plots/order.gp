# SPDX-License-Identifier: MIT
# Run order: the ratio of every run to the median of its cell, over time.
# Settings: rounds (their number), outliers, failures (1: there are some), bottom, top, logarithmic,
# label_y, and as macros tics_y, tics_text (as many as text has room for).
# Columns of name.dat: time, in rounds; ratio; the ratio again if it is an outlier; the true ratio
# of a run beyond the upper end of the axis, which is drawn at this end; the same at the lower end.
# One block for each series, and one more with the times of failed runs.

eval framed(format, 21 + key_lines + title_lines + signs_lines)
if (logarithmic) { set logscale y 2 }
set xrange [0:rounds]
set yrange [bottom:top]
set xlabel "round".(text ? "\n".signs_text : "")
# A round has its number in its middle and a line at its end. Of many rounds some have numbers.
step = ceil(rounds / (text ? 20.0 : width * (axes_right - axes_left) / 33))
set xtics scale 0 ()
do for [r = 1:rounds:step] { set xtics add (sprintf("%d", r) r - 0.5) }
if (text) {
    @tics_text
    plot for [i = 1:series] data index i-1 using 1:2 with points pt i title names[i], \
         for [i = 1:(outliers ? series : 0)] data index i-1 \
             using 1:3:(strcol(4) ne "" ? "^" : strcol(5) ne "" ? "v" : "*") \
             with labels left offset character 1,0 notitle, \
         for [i = 1:failures] data index series using 1:(bottom):("x") \
             with labels offset character 0,1 notitle
} else {
    @tics_y
    set ylabel label_y
    set grid ytics lc rgb "#dddddd" lt 1
    do for [r = 1:rounds:step] {
        set arrow from first r - 1, graph 0 to first r - 1, graph 1 nohead back lc rgb "#dddddd"
    }
    plot 1 with lines lw 1.4 lc rgb "#555555" notitle, \
         for [i = 1:series] data index i-1 using 1:2 with points pt points[i] ps 0.9 * grain \
             lc rgb colours[i] title names[i], \
         for [i = 1:(outliers ? series : 0)] data index i-1 using 1:3 \
             with points pt 6 ps 2.2 * grain lw 1.6 lc rgb "#333333" notitle, \
         for [i = 1:(outliers ? series : 0)] data index i-1 using 1:3:4 with labels right \
             rotate by 90 offset character 0,-0.9 font sans(small_points) notitle, \
         for [i = 1:(outliers ? series : 0)] data index i-1 using 1:3:5 with labels left \
             rotate by 90 offset character 0,0.9 font sans(small_points) notitle, \
         for [i = 1:outliers] NaN \
             with points pt 6 ps 2.2 * grain lw 1.6 lc rgb "#333333" title "outlier", \
         for [i = 1:failures] data index series using 1:(bottom) \
             with points pt 2 ps 1.6 * grain lw 1.6 lc rgb "#333333" title "failed"
}
