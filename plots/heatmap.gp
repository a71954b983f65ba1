# SPDX-License-Identifier: MIT
# Heat map: how many times better than the baseline each cell is, as a figure on a colour.
# Settings: rows, columns (arrays of names), widest (characters of the longest name of a row),
# label_x, pixels, below (units: of a column, below the rows), slanted (1 if the names of columns
# have no room side by side), and for text letters (characters of a column).
# Columns of name.dat: column, row, colour, colour of the text, text.

eval start(format, 18)
set output name.".".format
unset key
set tics scale 0 nomirror
set style fill solid 1.0 border rgb "#bbbbbb"
set border 0
if (!text) {
    eval titles
    set label label_x at screen 0.5, screen (foot + 9) / height center
    named = 24 + 8.2 * widest
    begin = named + (width - 30 - named - pixels * |columns|) / 2
    set lmargin at screen begin / width
    set rmargin at screen (begin + pixels * |columns|) / width
    set tmargin at screen 1 - (head + 2) / height
    set bmargin at screen (foot + below) / height
    set yrange [|rows| - 0.5:-0.5]
    set ytics ()
    do for [r = 1:|rows|] { set ytics add (rows[r] r - 1) }
    set xrange [-0.5:|columns| - 0.5]
    set xtics norotate
    if (slanted) { set xtics rotate by 20 right font sans(small_points) }
    set xtics ()
    do for [c = 1:|columns|] { set xtics add (columns[c] c - 1) }
    plot data using 1:2:($1-0.48):($1+0.48):($2-0.46):($2+0.46):3 \
             with boxxyerror linecolor rgb variable, \
         "" using 1:2:5:4 with labels center font sans(pixels < 62 ? small_points : 11) \
             textcolor rgb variable
} else {
    # Names are labels, because tics would have marks. A title would be centred above the
    # columns, and be cut off if they are few.
    unset tics
    set yrange [|rows| + 0.5:-0.5]
    # Columns without room follow below.
    together = letters < 68 - widest ? floor((68 - widest) / letters) : 1
    do for [from = 0:|columns| - 1:together] {
        to = from + together < |columns| ? from + together : |columns|
        first = from == 0 ? title_lines : 0
        last = to == |columns| ? 2 + signs_lines : 0
        # With a line for each row and letters characters for each column all texts fit.
        eval start(format, |rows| + 3 + first + last)
        set lmargin widest + 2
        set rmargin 72 - (widest + 2) - letters * (to - from) - 1
        set tmargin 1 + first
        set bmargin 1 + last
        unset label
        if (first) { eval titles_text }
        do for [r = 1:|rows|] {
            set label rows[r] at first from - 0.5, first r - 1 right offset character -1,0
        }
        do for [c = from + 1:to] { set label columns[c] at first c - 1, first |rows| center }
        set xlabel (last ? label_x : "") offset 0,-1
        if (last) { set label signs_text at screen 0.5, character signs_lines - 1 center }
        set xrange [from - 0.5:to - 0.5]
        plot data using 1:2:5 with labels center
    }
}
