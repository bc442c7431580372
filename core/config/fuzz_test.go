package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzParse checks what holds for every file: it is right, and then core takes
// it, or every problem has a line and a text.
func FuzzParse(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "*", "*.*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		if source, err := os.ReadFile(name); err == nil {
			f.Add(source)
		}
	}
	for _, m := range mistakes {
		f.Add([]byte(m.file()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f", data)
		if err != nil {
			checkError(t, data, err)
			return
		}
		if err := file.Core.Validate(); err != nil {
			t.Errorf("core refuses what was read: %v", err)
		}
		if file.Version != 1 || len(file.Headers) == 0 || file.Core.Limits == nil {
			t.Errorf("incomplete: %+v", file)
		}
		if again, err := Parse("f", data); err != nil || !reflect.DeepEqual(again, file) {
			t.Errorf("read twice it is\n%+v and\n%+v (%v)", file, again, err)
		}
	})
}

func checkError(t *testing.T, data []byte, err error) {
	t.Helper()
	var list *Error
	if !errors.As(err, &list) || len(list.Problems) == 0 {
		t.Fatalf("got %T %v, want a list of problems", err, err)
	}
	lines := 1 + strings.Count(string(data), "\n") + strings.Count(string(data), "\r")
	last := 1
	for _, p := range list.Problems {
		if p.File != "f" || p.Line < last || p.Line > lines || p.Text == "" {
			t.Errorf("problem %+v after line %d of %d", p, last, lines)
		}
		last = p.Line
	}
}
