package config

// nearest returns the word that s was probably meant to be, or "".
func nearest(s string, words []string) string {
	best, distance := "", 1+max(1, len(s)/3) // a third of the letters may be wrong
	if len(s) > maxKey {
		return ""
	}
	for _, w := range words {
		if d := edits(s, w); d < distance {
			best, distance = w, d
		}
	}
	return best
}

// edits returns how many letters must be added, removed, changed or swapped with
// the next one to make b of a.
func edits(a, b string) int {
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := above[j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			row[j] = min(above[j]+1, row[j-1]+1, changed)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
