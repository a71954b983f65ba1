# SPDX-License-Identifier: MIT
# Bars: a panel for each value of the outer axis, a bar for each cell, whiskers for intervals.
# Settings: panels, bars (array of the rows of each panel), heads (array), ends (array: of each
# axis), label_x (below the last panel), widest (characters of the longest name), value_columns
# (characters of the longest figure, which is on the right).
# Columns of name.dat: row, length of the bar, low, high, x of the sign of a bar, colour, the sign
# (a break or an arrow), the figure, cell. An empty sign has an x too, and so has a whisker that a
# bar lacks: gnuplot 5.4 crashes if all labels of a plot are at NaN. One block for each panel; if
# rounds is 1, one more for each, with the value and the row of every round.

eval start(format, 18)
set output name.".".format
unset key
set border 1
set tics nomirror out
set ytics scale 0
set style fill solid 1.0 noborder
if (!text) {
    set multiplot
    set grid xtics lc rgb "#dddddd" lt 1
}
begin = text ? widest + 3.0 : 34 + 8.2 * widest
room = text ? 72 - begin - value_columns - 2 : width - 16 - 8.2 * value_columns - begin
# A panel has 28 units above its bars and 55 below them.
rows = 0
do for [p = 1:panels] { rows = rows + bars[p] }
row = (height - head - foot - 83.0 * panels) / rows
above = head
do for [p = 1:panels] {
    last = p == panels
    unset label
    if (p == 1) { if (text) { eval titles_text } else { eval titles } }
    set xrange [0:1.02 * ends[p]]
    eval tics('x', 0, ends[p], 0, room / (text ? 6 : 50))
    if (text) {
        # One line of text for each bar: the plot is bars + 1 steps of a line high.
        over = (p == 1 ? title_lines : 0) + (heads[p] eq "" ? 0 : 1) + 1
        lines = bars[p] + 4 + over + (last ? 1 + signs_lines : 0)
        eval start(format, lines)
        set label heads[p] at screen 0.5, graph 1 offset 0,1 center
        set xlabel (last ? label_x : "")
        if (last) { set label signs_text at screen 0.5, character signs_lines - 1 center }
        set tmargin over
        set bmargin last ? 3 + signs_lines : 2
        set lmargin begin
        set rmargin value_columns + 2
        set yrange [bars[p]:-1]
        unset ytics
        plot data index p-1 using (0):1:2:(0) with vectors nohead, \
             "" index p-1 using (valid(3) ? $3 : 0):1:(valid(3) ? "[" : "") with labels center, \
             "" index p-1 using (valid(4) ? $4 : 0):1:(valid(4) ? "]" : "") with labels center, \
             "" index p-1 using (1.02 * ends[p]):1:8 with labels left offset character 2,0, \
             "" index p-1 using (0):1:9 with labels right offset character -1,0
    } else {
        set tmargin at screen 1 - (above + 28) / height
        set bmargin at screen 1 - (above + 28 + row * bars[p]) / height
        set lmargin at screen begin / width
        set rmargin at screen (begin + room) / width
        set label heads[p] at screen 0.5, screen 1 - (above + 14) / height center
        set xlabel (last ? label_x : "") offset 0,0.3
        above = above + row * bars[p] + 83
        set yrange [bars[p] - 0.5:-0.5]
        plot data index p-1 using 2:1:(0):2:($1-0.36):($1+0.36):6:ytic(9) \
                 with boxxyerror linecolor rgb variable, \
             for [q = 1:rounds] "" index panels+p-1 using 1:2 \
                 with points pt 7 ps 0.4 * grain lc rgb "#98000000", \
             "" index p-1 using ($4 >= $3 ? $3 : NaN):1:($4-$3):(0) \
                 with vectors heads size graph 0.005,90 lw 1.2 lc rgb "#000000", \
             "" index p-1 using 5:1:7 with labels center font sans(16) \
                 textcolor rgb "#ffffff", \
             "" index p-1 using (1.02 * ends[p]):1:8 with labels left offset character 1,0
    }
}
if (!text) { unset multiplot }
