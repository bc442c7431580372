package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected errors in the files of testdata/bad and testdata/later")

// wantMark begins the lines of a sample that hold its error. They stand at its
// end, so that they move no other line.
const wantMark = "# error: "

// samples returns the files of one folder by name.
func samples(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no samples in %s: %v", folder, err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestGoodSamplesAreRead(t *testing.T) {
	schema := compileSchema(t)
	for name, source := range samples(t, "good") {
		f, err := Parse(name, source)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if err := f.Core.Validate(); err != nil {
			t.Errorf("%s: core refuses what was read: %v", name, err)
		}
		if v, _ := instance(t, source); schema.Validate(v) != nil {
			t.Errorf("%s: the schema refuses it: %v", name, schema.Validate(v))
		}
	}
}

// Files of the whole grammar are right for the schema, and every part that is not
// supported yet is named.
func TestLaterPartsAreRefusedByName(t *testing.T) {
	schema := compileSchema(t)
	for name, source := range samples(t, "later") {
		checkGolden(t, "later", name, source)
		if v, _ := instance(t, source); schema.Validate(v) != nil {
			t.Errorf("%s: the schema refuses it: %v", name, schema.Validate(v))
		}
		for _, line := range wantedLines(source) {
			if !strings.Contains(line, "not supported yet") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

func TestBadSamplesShowEveryProblemAtOnce(t *testing.T) {
	for name, source := range samples(t, "bad") {
		checkGolden(t, "bad", name, source)
	}
}

// checkGolden compares the error of a sample with what is written at its end.
func checkGolden(t *testing.T, folder, name string, source []byte) {
	t.Helper()
	_, err := Parse(name, source)
	if err == nil {
		t.Errorf("%s is accepted", name)
		return
	}
	if *update {
		body, _, _ := bytes.Cut(source, []byte(wantMark))
		lines := wantMark + strings.ReplaceAll(err.Error(), "\n", "\n"+wantMark) + "\n"
		if err := os.WriteFile(filepath.Join("testdata", folder, name), append(body, lines...), 0o644); err != nil {
			t.Error(err)
		}
		return
	}
	if want := strings.Join(wantedLines(source), "\n"); err.Error() != want {
		t.Errorf("%s: got\n%v\nwant\n%s", name, err, want)
	}
}

func wantedLines(source []byte) (lines []string) {
	for line := range strings.Lines(string(source)) {
		if want, found := strings.CutPrefix(line, wantMark); found {
			lines = append(lines, strings.TrimSuffix(want, "\n"))
		}
	}
	return lines
}
