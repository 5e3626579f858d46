# sweep.gp: a panel for each group of the density sweep, base and patched. Variables: in, out, heading, groups (names), columns
# in: a block for each group: where on the x axis, base, patched
n = words(groups)
rows = (n + columns - 1) / columns
set terminal svg size 330 * columns, 70 + 270 * rows font "sans-serif,12" background "white"
set output out
set multiplot layout rows, columns title heading margins 0.09 / columns * 2, 0.965, 70.0 / (70 + 270 * rows), 1 - 75.0 / (70 + 270 * rows) \
	spacing 0.17 / columns * 1.4, 90.0 / (70 + 270 * rows)
set logscale xy
set xrange [0.7:6e6]
set xtics ("1" 1, "8" 8, "64" 64, "512" 512, "4096" 4096, "65536" 65536, "one" 524288, "none" 3145728) rotate by -45
set format y "10^{%L}"
set grid lc rgb "#dddddd"
set border 3 lc rgb "#444444"
set tics nomirror
set key top right
do for [i = 1:n] {
	set title word(groups, i) offset 0, -0.5
	plot in index i - 1 using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb "#d17a22" title "base", \
		in index i - 1 using 1:3 with linespoints pt 7 ps 0.5 lw 2 lc rgb "#2f6fb5" title "patched"
	set key off
}
unset multiplot
