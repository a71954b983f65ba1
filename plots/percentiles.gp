# SPDX-License-Identifier: MIT
# Percentiles: a time over 1 / (1 - q), a line for each cell, marked at every nine.
# Set before this: name, headline, headline_text (the same in lines), note, title_key, series (their
# number), names, colours, points, dashes (arrays), widest (characters of the longest name), right,
# bottom, top, logarithmic_y, label_y, and as macros tics_x, tics_y, tics_y_text (as many as have
# room in text).
# Columns of name.dat: 1 / (1 - q), value. One block for each series, 50 points for each nine.

data = name.".dat"
set macros
do for [format in "png svg txt"] {
    text = format eq "txt"
    if (format eq "png") {
        set terminal pngcairo noenhanced size 960,560 font "Sans,11" background "#ffffff"
    }
    if (format eq "svg") {
        set terminal svg noenhanced size 960,560 font "Sans,11" background "#ffffff"
    }
    if (text) {
        # The key stands below: names would take the columns of the lines.
        set terminal dumb nofeed mono noenhanced size 72,(21 + ceil(series * (widest + 9.0) / 64))
    }
    set output name.".".format
    set border 3
    set tics nomirror out
    set logscale x 10
    if (logarithmic_y) { set logscale y 10 }
    set xrange [1:right]
    set yrange [bottom:top]
    set xlabel "percentile"
    @tics_x
    if (text) {
        @tics_y_text
        set title headline_text
        set key below left reverse Left samplen 2
        plot for [i = 1:series] data index i-1 using 1:2 with points pt i title names[i]
    } else {
        @tics_y
        set title headline font "Sans,13"
        set key outside right center reverse Left samplen 2 title title_key
        set grid xtics ytics lc rgb "#dddddd" lt 1
        set lmargin at screen 0.12
        set rmargin at screen (876 - 8.0 * widest) / 960
        set bmargin at screen 0.16
        set label 1 note at screen 0.5, screen 0.02 center font "Sans,9" textcolor rgb "#555555"
        set ylabel label_y
        plot for [i = 1:series] data index i-1 using 1:2 with linespoints pointinterval 50 lw 1.6 \
            pt points[i] ps 0.8 dt dashes[i] lc rgb colours[i] title names[i]
    }
    set output
    reset
}
