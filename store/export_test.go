package store

// Denied returns how many denials are remembered.
func Denied(d *DenyCache) (n int) {
	for i := range d.shards {
		n += len(d.shards[i].entries)
	}
	return n
}
