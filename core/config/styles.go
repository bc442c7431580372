package config

import "slices"

// The header styles, and the pairs of them that would use one header for two
// things.
const (
	defaultHeaders = "ratelimit"
	noHeaders      = "none"
)

var (
	styles    = []string{defaultHeaders, "ratelimit-draft-06", "x-ratelimit-epoch", "x-ratelimit-delta", noHeaders}
	conflicts = [][2]string{{styles[0], styles[1]}, {styles[2], styles[3]}}
)

// headers reads the names of header styles.
func (d *decoder) headers(n *node) []string {
	var all []string
	for _, item := range d.list(n, "a list of "+alternatives(styles)) {
		style := d.word(item, styles...)
		switch other := conflict(style, all); {
		case style == "":
			continue
		case slices.Contains(all, style):
			d.wrong(item, "repeats %s, want each once", style)
		case other != "":
			d.wrong(item, "is %q beside %s, want one of them", style, other)
		}
		all = append(all, style)
	}
	return all
}

// conflict returns which of the others cannot stand beside the style.
func conflict(style string, others []string) string {
	for _, other := range others {
		one, another := [2]string{style, other}, [2]string{other, style}
		none := (style == noHeaders) != (other == noHeaders)
		if none || slices.Contains(conflicts, one) || slices.Contains(conflicts, another) {
			return other
		}
	}
	return ""
}
