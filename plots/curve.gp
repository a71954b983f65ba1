# SPDX-License-Identifier: MIT
# Curve: a metric by size with intervals, and below it its ratio to the baseline.
# Settings: label_x, label_ratio, base (number of the baseline, 0: none), empty (1: there is no
# value), left, right, logarithmic_y, x_names and x_places (arrays: labels along x,
# in up to x_rows more lines), gap (the share of the axis that the points at one place may take).
# shaded: 1 if column 10 has the values to shade. beyond: 1 if column 9 has bounds of censored
# values, which get an arrow.
# Columns of name.dat: x, value, low, high, ratio, its low, its high, whether it is a change, bound,
# value to shade. One block for each series. If floors is 1, one more with noise floors: x, low,
# high. If rounds is 1, one more for each series with all rounds: x, value, share of the
# distance along x.

# Whiskers are vectors, because yerrorbars in a pdf of gnuplot 5.4 erase what is behind the points.
beside(x, i) = x * dodge ** (i - (series + 1) / 2.0)
dot(x, share, i) = beside(x, i) * dodge ** (0.7 * share)
within(y) = y < ratio_low ? ratio_low : y > ratio_high ? ratio_high : y
small(i) = sprintf("%c", 96 + i) # the letter of a series in the key, as a small letter
spread = text || gap < 0.06 ? gap : 0.06
dodge = (right / left) ** (spread / series)
eval framed(format, 20 + title_lines + key_lines + x_rows + !base * signs_lines)
set logscale x 2
if (logarithmic_y) { set logscale y 10 }
set xrange [left:right]
if (!logarithmic_y) { set yrange [0:*] }
if (empty) { set yrange [0:1] }
set xtics ()
do for [i = 1:|x_names|] { set xtics add (text || !base ? x_names[i] : "" x_places[i]) }
if (text) {
    set xlabel label_x.(base ? "" : "\n".signs_text) offset 0,-x_rows
    set bmargin 4 + key_lines + x_rows + !base * signs_lines
    # A label without a text has a position too: gnuplot 5.4 crashes if all labels are at NaN.
    plot for [i = 1:series] data index i-1 using (beside($1, i)):3:(0):($4-$3) \
            with vectors nohead notitle, \
        for [i = 1:series] data index i-1 using (beside($1, i)):2 with points \
            pt i title names[i], \
        for [i = 1:(beyond ? series : 0)] data index i-1 \
            using (beside($1, i)):(valid(9) ? $9 : 1):(valid(9) ? "^" : "") noautoscale \
            with labels notitle
} else {
    set grid xtics ytics lc rgb "#dddddd" lt 1
    set multiplot
    # The ratios take some third of the height.
    lowest = axes_foot + 17 * x_rows / height
    ratios_top = lowest + 0.37 * (axes_top - lowest - 48 / height)
    set bmargin at screen (base ? ratios_top + 48 / height : lowest)
    if (!base) { set xlabel label_x offset 0,-x_rows }
    set bars 0.6
    set format y "%.10g"
    plot for [i = 1:(shaded ? series : 0)] data index i-1 using (beside($1, i)):10 \
            with lines lw 18 lc rgb "#b8".colours[i][2:7] notitle, \
        for [i = 1:(shaded ? series : 0)] data index i-1 using (beside($1, i)):10 \
            with points pt 7 ps 2.2 * grain lc rgb "#b8".colours[i][2:7] notitle, \
        for [i = 1:(rounds ? series : 0)] data index series+floors+i-1 \
            using (dot($1, $3, i)):2 with points pt 7 ps 0.4 * grain \
            lc rgb "#a8".colours[i][2:7] notitle, \
        for [i = 1:series] data index i-1 using (beside($1, i)):3:(0):($4-$3) \
            with vectors heads size graph 0.006,90 lw 1.4 lc rgb colours[i] notitle, \
        for [i = 1:series] data index i-1 using (beside($1, i)):2 with linespoints lw 1.4 \
            pt points[i] ps 0.8 * grain dt dashes[i] lc rgb colours[i] title names[i], \
        for [i = 1:(beyond ? series : 0)] data index i-1 \
            using (beside($1, i)):(valid(9) ? $9 : 1):(valid(9) ? "↑" : "") noautoscale \
            with labels font sans(18) offset 0,0.7 tc rgb colours[i] notitle
}
if (base) {
    unset key
    unset label
    unset logscale y
    set yrange [*:*]
    if (text) {
        eval start(format, 17 + x_rows + signs_lines)
        eval ratio_tics('y', 4)
        set title label_ratio
        set tmargin 2
        set bmargin 3 + x_rows + signs_lines
        set xlabel label_x."\n".signs_text offset 0,-x_rows
        plot 1 with dots, \
            for [i = 1:series] data index i-1 using (beside($1, i)):6:(0):($7-$6) \
                with vectors nohead, \
            for [i = 1:series] data index i-1 using (beside($1, i)):($8 == 1 ? $5 : NaN) \
                with points pt i, \
            for [i = 1:series] data index i-1 \
                using (beside($1, i)):(valid(5) ? $5 : 1):(valid(5) && $8 != 1 ? small(i) : "") \
                with labels
    } else {
        do for [i = 1:|x_names|] { set xtics add (x_names[i] x_places[i]) }
        set tmargin at screen ratios_top
        set bmargin at screen lowest
        eval ratio_tics('y', (ratios_top - lowest) * height / 30)
        set label label_ratio at graph 0, graph 1 offset 0,0.9
        set xlabel label_x offset 0,0.3 - 0.7 * x_rows
        plot for [b = 1:floors] data index series using 1:(within($2)):(within($3)) \
                with filledcurves fs solid 1.0 noborder fc rgb "#e0e0e0", \
            1 with lines lw 1.4 lc rgb colours[base] dt dashes[base], \
            for [i = 1:series] data index i-1 using (beside($1, i)):(i == base ? NaN : $5) \
                with lines lw 0.7 dt dashes[i] lc rgb colours[i], \
            for [i = 1:series] data index i-1 \
                using (beside($1, i)):(i == base || $8 != 1 ? NaN : $6):(0):($7-$6) \
                with vectors heads size graph 0.006,90 lw 1.6 lc rgb colours[i], \
            for [i = 1:series] data index i-1 \
                using (beside($1, i)):(i == base || $8 != 1 ? NaN : $5) \
                with points lw 1.6 pt points[i] ps 0.9 * grain lc rgb colours[i], \
            for [i = 1:series] data index i-1 \
                using (beside($1, i)):(i == base || $8 == 1 ? NaN : $6):(0):($7-$6) \
                with vectors heads size graph 0.006,90 lw 1.4 lc rgb "#a8".colours[i][2:7], \
            for [i = 1:series] data index i-1 \
                using (beside($1, i)):(i == base || $8 == 1 ? NaN : $5) \
                with points lw 1.4 pt points[i] ps 0.7 * grain lc rgb "#a8".colours[i][2:7]
    }
}
if (!text) { unset multiplot }
