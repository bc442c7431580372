package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// JSON has no parser of its own here, so it must be read as what it says,
// whatever its texts contain and however it is laid out.
func TestJSONIsReadAsWhatItSays(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		want := map[string]any{"top": randomValue(rng, 4)}
		for _, source := range layouts(t, want) {
			d := &decoder{file: "f"}
			root := d.parse(source)
			if root == nil {
				t.Errorf("seed %d: %s\nis refused: %v", seed, source, d.err())
				continue
			}
			if got := plain(root); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("seed %d: %s\nis read as %q, want %q", seed, source, got, want)
			}
		}
	}
}

// randomValue is a JSON value with texts that mean something in YAML.
func randomValue(rng *rand.Rand, depth int) any {
	switch k := rng.IntN(8); {
	case k < 2 && depth > 0:
		list := make([]any, rng.IntN(4))
		for i := range list {
			list[i] = randomValue(rng, depth-1)
		}
		return list
	case k < 5 && depth > 0:
		m := map[string]any{}
		for range rng.IntN(4) {
			m[randomText(rng)] = randomValue(rng, depth-1)
		}
		return m
	case k == 5:
		return json.Number([]string{"0", "-1", "12.5", "1e3", "10000000000000000000000"}[rng.IntN(5)])
	case k == 6:
		return []any{true, false}[rng.IntN(2)]
	}
	return randomText(rng)
}

func randomText(rng *rand.Rand) string {
	parts := []string{"a", " ", ": ", ":", "- ", "#", " #", "{", "}", "[", "]", ",", ", ", "'", "\"", "\\", "/", "\n", "\t", "é", "😀",
		"*", "&", "!", "|", ">", "%", "@", "`", "?", "? ", "---", "...", "\n---\n", "~", "null", "true", "1", "<<", "\u2028", "\u00a0", "\u0000", "\b"}
	var b strings.Builder
	for range rng.IntN(5) {
		b.WriteString(parts[rng.IntN(len(parts))])
	}
	return b.String()
}

// layouts writes v as JSON in several ways.
func layouts(t *testing.T, v any) [][]byte {
	t.Helper()
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	compact := raw.Bytes()
	all := [][]byte{compact}
	for _, indent := range []string{"  ", "\t"} {
		var b bytes.Buffer
		if err := json.Indent(&b, compact, "", indent); err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Bytes(), bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte("\r\n")))
	}
	return all
}

// plain is the tree as encoding/json would make it.
func plain(n *node) any {
	switch n.kind {
	case null:
		return nil
	case boolean:
		return n.text == "true"
	case number:
		if json.Valid([]byte(n.text)) {
			return json.Number(n.text)
		}
	case list:
		all := []any{}
		for _, c := range n.items {
			all = append(all, plain(c))
		}
		return all
	case mapping:
		m := map[string]any{}
		for _, c := range n.items {
			m[c.key] = plain(c)
		}
		return m
	}
	return n.text
}
