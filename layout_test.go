package tidegate_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tidegate/tidegate"

// arrows lists who may import whom inside the module. A missing arrow is added
// here first, in a change whose message says why. Tests may import what they test
// with: only the shipped code is held to it.
var arrows = map[string][]string{
	"core/algo":            {},
	"core":                 {"core/algo"},
	"core/config":          {"core", "core/algo"},
	"headers":              {},
	"store":                {"core", "core/algo", "store/memstore"},
	"store/memstore":       {"core", "core/algo"},
	"store/redisstore":     {"core", "core/algo"},
	"store/storetest":      {"core", "core/algo"},
	"httpmw/clientip":      {},
	"httpmw/guard":         {"core", "core/algo", "headers", "httpmw/clientip"},
	"httpmw":               {"core", "headers", "httpmw/clientip", "httpmw/guard"},
	"httpmw/httpmwtest":    {"core", "core/algo", "headers", "httpmw/clientip", "store/memstore"},
	"ginmw":                {"core", "headers", "httpmw/clientip", "httpmw/guard"},
	"echomw":               {"core", "headers", "httpmw/clientip", "httpmw/guard"},
	"examples/orders":      {"*"},
	"examples/gin":         {"*"},
	"examples/echo":        {"*"},
	"examples/http":        {"*"},
	"examples/worker":      {"*"},
	"internal/exampletest": {},
	"internal/redistest":   {},
}

// thirdParty lists who may import code that is not ours. Everybody else has the
// standard library.
var thirdParty = map[string][]string{
	"core/config":        {"github.com/goccy/go-yaml"},
	"headers":            {"github.com/dunglas/httpsfv"},
	"httpmw":             {"github.com/felixge/httpsnoop"},
	"ginmw":              {"github.com/gin-gonic/gin"},
	"echomw":             {"github.com/labstack/echo/v4"},
	"examples/orders":    {"github.com/gin-gonic/gin", "github.com/labstack/echo/v4", "github.com/coder/websocket"},
	"examples/gin":       {"github.com/gin-gonic/gin"},
	"examples/echo":      {"github.com/labstack/echo/v4"},
	"store/redisstore":   {"github.com/redis/go-redis/v9"},
	"internal/redistest": {"github.com/redis/go-redis/v9"},
}

// forbidden lists standard packages that a room must not import, and why.
var forbidden = []struct{ room, pkg, why string }{
	{"core", "net/http", "the core decides for any transport"},
	{"core/algo", "math", "no floats: every answer is an exact integer"},
}

// longestFunction is where a function stops being one idea.
const longestFunction = 70

type pkg struct {
	ImportPath, Name, Dir, Doc string
	Imports, GoFiles           []string
}

func (p pkg) room() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Doc,Imports,GoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			list = append(list, p)
		}
	}
	if len(list) < 10 {
		t.Fatalf("go list found %d packages, want all of them", len(list))
	}
	return list
}

func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		allowed, known := arrows[p.room()]
		if !known {
			t.Errorf("package %s is in no room: list it in arrows, with what it may import", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			if room, ours := strings.CutPrefix(imported, module+"/"); ours {
				if !slices.Contains(allowed, room) && !slices.Contains(allowed, "*") {
					t.Errorf("%s imports %s, which no arrow allows", p.room(), room)
				}
				continue
			}
			if strings.Contains(strings.Split(imported, "/")[0], ".") && !mayImport(p.room(), imported) {
				t.Errorf("%s imports %s, which is not its business", p.room(), imported)
			}
			for _, f := range forbidden {
				if f.room == p.room() && f.pkg == imported {
					t.Errorf("%s imports %s: %s", p.room(), imported, f.why)
				}
			}
		}
	}
}

func mayImport(room, imported string) bool {
	for _, prefix := range thirdParty[room] {
		if imported == prefix || strings.HasPrefix(imported, prefix+"/") {
			return true
		}
	}
	return false
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.room())
		}
		if p.Name != "main" && p.Name != filepath.Base(p.Dir) {
			t.Errorf("%s is called %s, want the name of its folder", p.room(), p.Name)
		}
	}
}

// TestSource holds every shipped file to what can be read off it: functions are
// short, exported names are explained, arithmetic has no floats, and the core
// reads no clock but where it sleeps.
func TestSource(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			if strings.Contains(name, "_test") {
				t.Errorf("%s/%s is shipped, and is called like a test", p.room(), name)
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			checkFile(t, p, fset, file)
		}
	}
}

func checkFile(t *testing.T, p pkg, fset *token.FileSet, file *ast.File) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if lines := fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1; lines > longestFunction {
				t.Errorf("%v: %s has %d lines, want at most %d", fset.Position(n.Pos()), n.Name.Name, lines, longestFunction)
			}
		case *ast.Ident:
			if p.room() == "core/algo" && (n.Name == "float64" || n.Name == "float32") {
				t.Errorf("%v: a float in exact arithmetic", fset.Position(n.Pos()))
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && n.Sel.Name == "Now" {
				checkClock(t, p, fset.Position(n.Pos()))
			}
		}
		return true
	})
	for _, decl := range file.Decls {
		checkDoc(t, fset, decl)
	}
}

// clocks lists who may read one: everybody else is told the time.
var clocks = []string{"store/memstore", "store/redisstore", "internal/redistest", "store", "httpmw/guard", "examples/", "store/storetest", "httpmw/httpmwtest"}

func checkClock(t *testing.T, p pkg, at token.Position) {
	t.Helper()
	for _, room := range clocks {
		if strings.HasPrefix(p.room(), room) {
			return
		}
	}
	t.Errorf("%v: reads the clock, want the time from the store or the caller", at)
}

func checkDoc(t *testing.T, fset *token.FileSet, decl ast.Decl) {
	t.Helper()
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
			t.Errorf("%v: %s has no doc comment", fset.Position(d.Pos()), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
				t.Errorf("%v: %s has no doc comment", fset.Position(s.Pos()), s.Name.Name)
			}
			if s, ok := spec.(*ast.ValueSpec); ok && s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				t.Errorf("%v: %s has no doc comment", fset.Position(s.Pos()), s.Names[0].Name)
			}
		}
	}
}

// exportedReceiver reports whether a method can be reached: methods of unexported
// types implement interfaces that say what they do.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}
