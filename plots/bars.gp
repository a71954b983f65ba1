# SPDX-License-Identifier: MIT
# Bars: a panel for each value of the outer axis, a bar for each cell, whiskers for intervals.
# Set before this: name, headline, note, panels, bars (array of rows per panel), heads (array),
# tops (array: right end of each axis), label (of the axes), whiskers (what
# they are, in text), height (pixels), widest (characters
# of the longest name).
# Columns of name.dat: row, length of the bar, low, high, where the value is written, colour,
# where a break or an arrow is drawn and how (empty for a whole bar; no NaN here: gnuplot 5.4 crashes if all
# labels of a plot are at NaN), value, cell. One block for each panel.

data = name.".dat"
do for [format in "png svg txt"] {
    text = format eq "txt"
    if (format eq "png") {
        set terminal pngcairo noenhanced size 960,height font "Sans,11" background "#ffffff"
    }
    if (format eq "svg") {
        set terminal svg noenhanced size 960,height font "Sans,11" background "#ffffff"
    }
    if (text) { set terminal dumb nofeed mono noenhanced size 72,18 }
    set output name.".".format
    unset key
    set border 1
    set tics nomirror out
    set ytics scale 0
    set offsets 0,0,0,0
    set style fill solid 1.0 noborder
    set style textbox opaque noborder fillcolor rgb "#ffffff" margins 0.3,0.1
    if (!text) {
        set multiplot title headline font "Sans,13" offset 0,-0.3
        set label 1 note at screen 0.5, screen (9.0 / height) center font "Sans,9" \
            textcolor rgb "#555555"
        set grid xtics lc rgb "#dddddd" lt 1
    }
    total = 0
    do for [p = 1:panels] { total = total + bars[p] + 3.2 }
    above = 0.0
    do for [p = 1:panels] {
        if (text) {
            unset grid
            set title p == 1 ? headline.(heads[p] eq "" ? "" : ", ".heads[p]) : heads[p]
            set xlabel p == panels ? label."\n".whiskers : ""
            # One line of text for each bar: the plot is bars + 1 steps of a line high.
            set terminal dumb nofeed mono noenhanced size 72,(bars[p] + (p == panels ? 8 : 6))
            set tmargin 2
            set bmargin (p == panels ? 4 : 2)
            set lmargin widest + 3
        } else {
            room = (height - 34.0 - 24.0) / height
            set tmargin at screen 1.0 - 34.0 / height - room * (above + 1.1) / total
            set bmargin at screen 1.0 - 34.0 / height - room * (above + 1.1 + bars[p]) / total
            set lmargin at screen (24 + 8.2 * widest) / 960
            set rmargin at screen 0.97
            set title heads[p] offset 0,-0.6
            set xlabel p == panels ? label : "" offset 0,0.3
            above = above + bars[p] + 3.2
        }
        set xrange [0:tops[p]]
        if (text) {
            set yrange [bars[p]:-1]
            plot data index p-1 using (0):1:2:(0):ytic(10) with vectors nohead, \
                 "" index p-1 using 3:1:($4 >= $3 ? "[" : "") with labels center, \
                 "" index p-1 using 4:1:($4 >= $3 ? "]" : "") with labels center, \
                 "" index p-1 using 5:1:9 with labels left offset character 2,0
        } else {
            set yrange [bars[p] - 0.5:-0.5]
            plot data index p-1 using 2:1:(0):2:($1-0.36):($1+0.36):6:ytic(10) \
                     with boxxyerror linecolor rgb variable, \
                 "" index p-1 using ($4 >= $3 ? $2 : NaN):1:3:4 \
                     with xerrorbars pt 7 ps 0.01 lw 1.2 lc rgb "#000000", \
                 "" index p-1 using 7:1:8 with labels center font "Sans,16" \
                     textcolor rgb "#ffffff", \
                 "" index p-1 using 5:1:9 with labels left offset character 0.7,0 boxed
        }
        if (!text) { unset label 1 }
    }
    if (!text) { unset multiplot }
    set output
    reset
}
