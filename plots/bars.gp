# SPDX-License-Identifier: MIT
# Bars: a panel for each value of the outer axis, a bar for each cell, whiskers for intervals.
# Settings: panels, bars (array of the rows of each panel), heads (array), tops, tops_text, steps
# (arrays: right end of each axis, drawn and in text, and the distance of its tics), label and
# label_text (of the axes; the latter has label_lines lines), label_foot (height of label beyond its
# first line), widest (characters of the longest name).
# Columns of name.dat: row, length of the bar, low, high, x of the text of the value, colour, x of
# the sign of a cut bar (a break or an arrow) and the sign, text of the value, cell. A whole bar has
# an empty sign and still an x: gnuplot 5.4 crashes if all labels of a plot are at NaN. One block
# for each panel; if rounds is 1, one more for each, with the value and the row of every round.

eval start(format, 18)
set output name.".".format
unset key
set border 1
set tics nomirror out
set ytics scale 0
set style fill solid 1.0 noborder
set style textbox opaque noborder fillcolor rgb "#ffffff" margins 0.3,0.1
if (!text) {
    set multiplot
    set grid xtics lc rgb "#dddddd" lt 1
}
# A panel has 28 units above its bars and 55 below them.
rows = 0
do for [p = 1:panels] { rows = rows + bars[p] }
row = (height - head - foot - label_foot - 83.0 * panels) / rows
above = head
do for [p = 1:panels] {
    last = p == panels
    unset label
    if (p == 1) { if (text) { eval titles_text } else { eval titles } }
    set title heads[p] offset 0,(text ? 0 : -0.6)
    if (text) {
        set xrange [0:tops_text[p]]
        # One line of text for each bar: the plot is bars + 1 steps of a line high.
        over = (p == 1 ? title_lines : 0) + (heads[p] eq "" ? 0 : 1) + 1
        eval start(format, bars[p] + 4 + over + (last ? label_lines + signs_lines : 0))
        set xlabel (last ? label_text."\n".signs_text : "")
        set tmargin over
        set bmargin last ? 2 + label_lines + signs_lines : 2
        set lmargin widest + 3
        set yrange [bars[p]:-1]
        unset ytics
        plot data index p-1 using (0):1:2:(0) with vectors nohead, \
             "" index p-1 using 3:1:($4 >= $3 ? "[" : "") with labels center, \
             "" index p-1 using 4:1:($4 >= $3 ? "]" : "") with labels center, \
             "" index p-1 using 5:1:9 with labels left offset character 2,0, \
             "" index p-1 using (0):1:10 with labels right offset character -1,0
    } else {
        set xrange [0:tops[p]]
        eval sprintf("set xtics %.9g", steps[p])
        set tmargin at screen 1 - (above + 28) / height
        set bmargin at screen 1 - (above + 28 + row * bars[p]) / height
        set lmargin at screen (34 + 8.2 * widest) / width
        set rmargin at screen 0.97
        set xlabel (last ? label : "") offset 0,0.3
        above = above + row * bars[p] + 83
        set yrange [bars[p] - 0.5:-0.5]
        plot data index p-1 using 2:1:(0):2:($1-0.36):($1+0.36):6:ytic(10) \
                 with boxxyerror linecolor rgb variable, \
             for [q = 1:rounds] "" index panels+p-1 using 1:2 \
                 with points pt 7 ps 0.4 * grain lc rgb "#98000000", \
             "" index p-1 using ($4 >= $3 ? $3 : NaN):1:($4-$3):(0) \
                 with vectors heads size graph 0.005,90 lw 1.2 lc rgb "#000000", \
             "" index p-1 using 7:1:8 with labels center font sans(16) \
                 textcolor rgb "#ffffff", \
             "" index p-1 using 5:1:9 with labels left offset character 0.7,0 boxed
    }
}
if (!text) { unset multiplot }
