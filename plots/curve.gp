# SPDX-License-Identifier: MIT
# Curve: a metric by size with intervals, and below it its ratio to the baseline.
# Settings: label_x, label_y, label_ratio, base (number of the baseline, 0: none), empty (1: there
# is no value), left, right, logarithmic_x, logarithmic_y (1: with bottom and top), ratio_low,
# ratio_high, logarithmic_ratio, and as macros tics_x, tics_blank (without labels), tics_text (in
# several lines), tics_ratio, tics_ratio_text. dodge_drawn, dodge_text: the distance along x between
# points of neighbouring series. label_rows, drawn_rows: lines of labels beyond the first, in text
# and drawn. shaded: 1 if column 10 has the values to shade. beyond: 1 if column 9 has bounds of
# censored values, which get an arrow.
# Columns of name.dat: x, value, low, high, ratio, its low, its high, whether it is a change, bound.
# One block for each series. If floors is 1, one more with noise floors: from, to, low, high. If
# rounds is 1, one more for each series with all rounds: x, value, share of the distance along x.

# Whiskers are vectors, because yerrorbars in a pdf of gnuplot 5.4 erase what is behind the points.
beside(x, i) = logarithmic_x ? x * dodge ** (i - (series + 1) / 2.0) \
                             : x + dodge * (i - (series + 1) / 2.0)
dot(x, share, i) = logarithmic_x ? beside(x, i) * dodge ** (0.7 * share) \
                                 : beside(x, i) + dodge * 0.7 * share
within(y) = y < ratio_low ? ratio_low : y > ratio_high ? ratio_high : y
small(i) = sprintf("%c", 96 + i) # the letter of a series in the key, as a small letter
# A label without a position is empty and in a corner: gnuplot 5.4 crashes if all are at NaN.
or(y, other) = y == y ? y : other
at(x, y, i) = y == y ? beside(x, i) : left
ground = logarithmic_y ? bottom : 0
dodge = text ? dodge_text : dodge_drawn
eval framed(format, 20 + title_lines + key_lines + label_rows + !base * signs_lines)
if (logarithmic_x) { set logscale x 2 }
if (logarithmic_y) { set logscale y 10 }
set xrange [left:right]
if (logarithmic_y) { set yrange [bottom:top] } else { set yrange [0:*] }
if (empty) { set yrange [0:1] }
if (text) {
    @tics_text
    set xlabel label_x.(base ? "" : "\n".signs_text) offset 0,-label_rows
    set bmargin 4 + key_lines + label_rows + !base * signs_lines
    plot for [i = 1:series] data index i-1 using (beside($1, i)):3:(0):($4-$3) \
            with vectors nohead notitle, \
        for [i = 1:series] data index i-1 using (beside($1, i)):2 with points \
            pt i title names[i], \
        for [i = 1:(beyond ? series : 0)] data index i-1 \
            using (at($1, $9, i)):(or($9, ground)):($9 == $9 ? "^" : "") with labels notitle
} else {
    if (base) { @tics_blank } else { @tics_x }
    set grid xtics ytics lc rgb "#dddddd" lt 1
    set multiplot
    # The ratios take some third of the height.
    lowest = (axes_foot + 17 * drawn_rows) / height
    ratios_top = lowest + 0.37 * (axes_top - lowest - 30 / height)
    set bmargin at screen (base ? ratios_top + 30 / height : lowest)
    if (!base) { set xlabel label_x offset 0,-drawn_rows }
    set ylabel label_y
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
            using (at($1, $9, i)):(or($9, ground)):($9 == $9 ? "↑" : "") \
            with labels font sans(18) offset 0,0.7 tc rgb colours[i] notitle
}
if (base) {
    unset key
    unset label
    unset logscale y
    if (logarithmic_ratio) { set logscale y 2 }
    set yrange [ratio_low:ratio_high]
    if (text) {
        eval start(format, 17 + label_rows + signs_lines)
        @tics_ratio_text
        set title "ratio to ".names[base]
        set tmargin 2
        set bmargin 3 + label_rows + signs_lines
        set xlabel label_x."\n".signs_text offset 0,-label_rows
        plot 1 with dots, \
            for [i = 1:series] data index i-1 using (beside($1, i)):6:(0):($7-$6) \
                with vectors nohead, \
            for [i = 1:series] data index i-1 using (beside($1, i)):($8 == 1 ? $5 : NaN) \
                with points pt i, \
            for [i = 1:series] data index i-1 using (at($1, $5, i)):(or($5, ratio_low)) \
                :($5 == $5 && $8 != 1 ? small(i) : "") with labels
    } else {
        @tics_x
        @tics_ratio
        set tmargin at screen ratios_top
        set bmargin at screen lowest
        # In an svg gnuplot forgets the width of all lines but the first.
        set ylabel label_ratio offset (format eq "svg" ? -1.6 * (label_columns - 1) : 0),0
        set xlabel label_x offset 0,0.3 - 0.7 * drawn_rows
        plot for [b = 1:floors] data index series using \
                1:(within($3)):1:2:(within($3)):(within($4)) \
                with boxxyerror fs solid 1.0 noborder fc rgb "#e0e0e0", \
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
