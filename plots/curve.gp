# SPDX-License-Identifier: MIT
# Curve: a metric by size with intervals, and under it its ratio to the baseline.
# Set before this: name, headline, headline_text (the same in lines), note, label_x, label_y, series
# (their number), names, colours, points, dashes (arrays), base (number of the baseline, 0: none),
# empty (1: no value at all), left, right, logarithmic_x, logarithmic_y (1: with bottom and top),
# ratio_low, ratio_high, logarithmic_ratio, and as macros tics_x, tics_blank (the same without
# labels), tics_text (in more lines), tics_ratio, tics_ratio_text. dodge_drawn, dodge_text: a series
# stands so far beside the one before it. label_rows: lines of labels in text, beyond the first.
# widest: characters of the longest name. signs_text: what signs mean in text.
# shaded: 1 where column 9 has the values that stand out. beyond: 1 where column 8 has values that are
# only bounds, which get an arrow.
# Columns of name.dat: x, value, low, high, ratio, its low, its high, bound. One block for each series.

data = name.".dat"
set macros
beside(x, i) = logarithmic_x ? x * dodge ** (i - (series + 1) / 2.0) \
                             : x + dodge * (i - (series + 1) / 2.0)
do for [format in "png svg txt"] {
    text = format eq "txt"
    if (format eq "png") {
        set terminal pngcairo noenhanced size 960,720 font "Sans,11" background "#ffffff"
    }
    if (format eq "svg") {
        set terminal svg noenhanced size 960,720 font "Sans,11" background "#ffffff"
    }
    dodge = text ? dodge_text : dodge_drawn
    # The key stands below in text: names would take the columns of the points.
    keys = ceil(series * (widest + 6.0) / 66)
    if (text) { set terminal dumb nofeed mono noenhanced size 72,(21 + keys + label_rows) }
    set output name.".".format
    set border 3
    set tics nomirror out
    set key outside right center reverse Left samplen 2
    below = shaded && !base && !text && series <= 4 # the names of its lines are long
    if (text) { set key below left reverse Left samplen 1 }
    if (below) { set key at screen 0.54, screen 0.135 center top horizontal maxcols 2 }
    if (logarithmic_x) { set logscale x 2 }
    if (logarithmic_y) { set logscale y 10 }
    set xrange [left:right]
    if (logarithmic_y) { set yrange [bottom:top] } else { set yrange [0:*] }
    if (empty) { set yrange [0:1] }
    if (!text) {
        if (base) { @tics_blank } else { @tics_x }
        set grid xtics ytics lc rgb "#dddddd" lt 1
        set multiplot title headline font "Sans,13" offset 0,-0.3
        set lmargin at screen 0.12
        set rmargin at screen (below ? 0.97 : 0.80)
        set tmargin at screen 0.93
        set bmargin at screen (base ? 0.46 : below ? 0.23 : 0.14)
        set label 1 note at screen 0.5, screen 0.014 center font "Sans,9" \
            textcolor rgb "#555555"
        if (!base) { set xlabel label_x }
        set ylabel label_y
        set bars 0.6
        set format y "%.10g"
    } else {
        @tics_text
        set title headline_text
        set xlabel label_x."\n".signs_text offset 0,-label_rows
        set bmargin 5 + keys + label_rows
    }
    if (text) {
        plot for [i = 1:series] data index i-1 using (beside($1, i)):3:(0):($4-$3) \
                with vectors nohead notitle, \
            for [i = 1:series] data index i-1 using (beside($1, i)):2 with points \
                pt i title names[i], \
            for [i = 1:(beyond ? series : 0)] data index i-1 using (beside($1, i)):8:("^") \
                with labels notitle
    } else {
        plot for [i = 1:(shaded ? series : 0)] data index i-1 using (beside($1, i)):9 with lines lw 18 \
                lc rgb "#b8".colours[i][2:7] notitle, \
            for [i = 1:(shaded ? series : 0)] data index i-1 using (beside($1, i)):9 with points pt 7 ps 2.2 \
                lc rgb "#b8".colours[i][2:7] notitle, \
            for [i = 1:series] data index i-1 using (beside($1, i)):2:3:4 with yerrorlines lw 1.4 \
                pt points[i] ps 0.8 dt dashes[i] lc rgb colours[i] title names[i], \
            for [i = 1:(beyond ? series : 0)] data index i-1 using (beside($1, i)):8:("↑") with labels \
                font "Sans,18" offset 0,0.7 tc rgb colours[i] notitle
    }
    if (base) {
        unset key
        unset label 1
        unset logscale y
        if (logarithmic_ratio) { set logscale y 2 }
        set yrange [ratio_low:ratio_high]
        set xlabel label_x.(text ? "\n".signs_text : "") offset 0,(text ? -label_rows : 0)
        if (!text) {
            @tics_x
            @tics_ratio
            set tmargin at screen 0.42
            set bmargin at screen 0.12
            set ylabel "ratio to ".names[base]
        } else {
            set terminal dumb nofeed mono noenhanced size 72,(17 + keys + label_rows)
            set key below left reverse Left samplen 1
            set title "ratio to ".names[base]
            @tics_ratio_text
        }
        if (text) {
            plot 1 with dots notitle, \
                for [i = 1:series] data index i-1 using (beside($1, i)):6:(0):($7-$6) \
                    with vectors nohead notitle, \
                for [i = 1:series] data index i-1 using (beside($1, i)):5 with points \
                    pt i title names[i]
        } else {
            plot 1 with lines lw 1.4 lc rgb colours[base] dt dashes[base] notitle, \
                for [i = 1:series] data index i-1 \
                using (beside($1, i)):(i == base ? NaN : $5):6:7 \
                with yerrorlines lw 1.4 pt points[i] ps 0.8 dt dashes[i] lc rgb colours[i] notitle
        }
    }
    if (!text) { unset multiplot }
    set output
    reset
}
