package config

import (
	"fmt"
	"strings"
)

// The bounds of the text that the YAML library is given. Its scanner looks ahead
// and back over runs and lines again and again, and takes minutes for a megabyte
// of the wrong ones. No limits file comes near any of them.
const (
	maxSigns  = 200_000 // each is a token, of some hundred bytes
	maxBlanks = 200     // lines with nothing on them, in a row
	maxTabs   = 100     // in a line
	maxAngles = 100     // < in a row
)

// signs are the characters that are a token by themselves nearly everywhere.
const signs = ",[]{}&*!?%@`"

// A meter measures the text of a file, character by character.
type meter struct {
	line                        int
	signs, blanks, tabs, angles int
	text                        bool // on this line
}

// bounded reports text that would take the scanner too long.
func (d *decoder) bounded(source string) bool {
	m := meter{line: 1}
	for i := range len(source) {
		m.count(source[i])
		if why := m.excess(); why != "" {
			d.report(place{m.line, 0}, "", "has more than %s, want fewer", why)
			return false
		}
	}
	return true
}

func (m *meter) count(c byte) {
	if c != '<' {
		m.angles = 0
	}
	switch {
	case c == '\n':
		m.newLine()
		return
	case c == ' ':
		return
	case c == '\t':
		m.tabs++
		return
	case c == '<':
		m.angles++
	case strings.IndexByte(signs, c) >= 0:
		m.signs++
	}
	m.text = true
}

func (m *meter) newLine() {
	m.blanks++
	if m.text {
		m.blanks = 0
	}
	m.line, m.tabs, m.text = m.line+1, 0, false
}

// excess says which bound is passed, and nothing if none is.
func (m *meter) excess() string {
	switch {
	case m.signs > maxSigns:
		return fmt.Sprintf("%d of the signs %s", maxSigns, strings.Join(strings.Split(signs, ""), " "))
	case m.blanks > maxBlanks:
		return fmt.Sprintf("%d blank lines in a row", maxBlanks)
	case m.tabs > maxTabs:
		return fmt.Sprintf("%d tabs in a line", maxTabs)
	case m.angles > maxAngles:
		return fmt.Sprintf("%d times < in a row", maxAngles)
	}
	return ""
}
