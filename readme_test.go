package tidegate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tidegate/tidegate/core/config"
)

// What a newcomer copies out of the README compiles and does what it says there.

var fences = regexp.MustCompile("(?ms)^```(go|yaml)\n(.*?)^```")

// blocks returns the README's blocks of one language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range fences.FindAllStringSubmatch(string(text), -1) {
		if m[1] == language {
			list = append(list, m[2])
		}
	}
	return list
}

func TestReadmeFilesAreRight(t *testing.T) {
	list := blocks(t, "yaml")
	if len(list) < 2 {
		t.Fatalf("the README has %d blocks of YAML, want the limits file and what a limit can do", len(list))
	}
	for _, source := range list {
		if !strings.Contains(source, "version:") {
			source = "version: 1\n" + source // a part of a file
		}
		if _, err := config.Parse("README.md", []byte(source)); err != nil {
			t.Errorf("%s\n%v", source, err)
		}
	}
}

// A program is what stands around the blocks of Go that hold these words, in their
// order, and what it prints.
type program struct {
	name   string
	words  []string
	source string // with %s for each block
	want   string // a pattern
}

const limiterWords = `Name: "login", Key: core.ByIP`

// What passes of 25 orders and 6 logins. On a slow machine a unit or two comes back
// meanwhile.
const (
	twenty = `201×2[0-3] 429×[2-5]\n`
	five   = "200×5 429×1\n"
)

var programs = []program{
	{"gin", []string{limiterWords, `ginmw.Limit(limiter, "login")`, `TrustedProxies: []netip.Prefix`}, ginProgram, twenty + five},
	{"echo", []string{limiterWords, `echomw.Limit(limiter, "login")`}, echoProgram, "201×25\n" + five},
	{"http", []string{limiterWords, `httpmw.Limit(limiter, "login")`, `http.StripPrefix`}, httpProgram, twenty + five + twenty},
	{"worker", []string{limiterWords, `core.WithIdentity`}, workerProgram, "99 remain\n"},
	{"file", []string{`config.Load`}, fileProgram, twenty},
}

func TestReadmeProgramsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	unused := blocks(t, "go")
	for _, p := range programs {
		var parts []any
		for _, words := range p.words {
			parts = append(parts, block(t, words))
			for i, b := range unused {
				if strings.Contains(b, words) {
					unused[i] = ""
				}
			}
		}
		t.Run(p.name, func(t *testing.T) {
			got := runProgram(t, p.name, fmt.Sprintf(p.source, parts...))
			if !regexp.MustCompile("^" + p.want + "$").MatchString(got) {
				t.Errorf("printed\n%s\nwant\n%s", got, p.want)
			}
		})
	}
	for _, b := range unused {
		if b != "" {
			t.Errorf("no program has this block of the README:\n%s", b)
		}
	}
}

func block(t *testing.T, words string) string {
	t.Helper()
	for _, b := range blocks(t, "go") {
		if strings.Contains(b, words) {
			return b
		}
	}
	t.Fatalf("no block of the README has %s", words)
	return ""
}

// runProgram builds a program as if it stood in this module, and runs it beside the
// README's limits file.
func runProgram(t *testing.T, name, source string) string {
	t.Helper()
	dir := t.TempDir()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "internal", "readme", name, "main.go"): filepath.Join(dir, "main.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"main.go": source, "overlay.json": string(overlay), "limits.yaml": blocks(t, "yaml")[0],
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "./internal/readme/"+name)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s", source, out)
	}
	run := exec.Command(binary)
	run.Dir, run.Env = dir, append(os.Environ(), "GIN_MODE=release")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	return string(out)
}

// ask is what the programs ask their handlers with: n requests in quick succession,
// and how often there was which status.
const ask = `
func ask(h http.Handler, n int, method, path string, headers ...string) {
	counts := map[int]int{}
	for range n {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		counts[w.Code]++
	}
	sep := ""
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("%s%d×%d", sep, status, counts[status])
		sep = " "
	}
	fmt.Println()
}
`

var askSource = strings.ReplaceAll(ask, "%", "%%")

var ginProgram = `package main

import (
	"fmt"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/ginmw"
	"github.com/tidegate/tidegate/httpmw/clientip"
	"github.com/tidegate/tidegate/store/memstore"
)

func authenticate(c *gin.Context) { c.Set("user", "ann"); c.Set("plan", "free") }
func createOrder(c *gin.Context)  { c.Status(http.StatusCreated) }
func login(c *gin.Context)        { c.Status(http.StatusOK) }

func main() {
	%s
	%s
	ask(r, 25, "POST", "/orders")
	ask(r, 6, "POST", "/login")
	%s
}
` + askSource

var echoProgram = `package main

import (
	"fmt"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/echomw"
	"github.com/tidegate/tidegate/store/memstore"
)

func authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set("user", "ann")
		return next(c)
	}
}
func createOrder(c echo.Context) error { return c.NoContent(http.StatusCreated) }
func login(c echo.Context) error       { return c.NoContent(http.StatusOK) }

func main() {
	%s
	%s
	ask(e, 25, "POST", "/orders")
	ask(e, 6, "POST", "/login")
}
` + askSource

var httpProgram = `package main

import (
	"fmt"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw"
	"github.com/tidegate/tidegate/store/memstore"
)

func authenticate(next http.Handler) http.Handler      { return next }
func identityOf(*http.Request) core.Identity           { return core.Identity{Principal: "ann", Tier: "free"} }
func createOrder(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }
func login(w http.ResponseWriter, _ *http.Request)       { w.WriteHeader(http.StatusOK) }

func main() {
	%s
	%s
	ask(handler, 25, "POST", "/orders")
	ask(handler, 6, "POST", "/login")
	%s
	ask(outer, 25, "POST", "/v1/orders") // of an address: nobody is authenticated here
}
` + askSource

var workerProgram = `package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/store/memstore"
)

func main() {
	%s
	%s
}
`

var fileProgram = `package main

import (
	"fmt"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/config"
	"github.com/tidegate/tidegate/ginmw"
	"github.com/tidegate/tidegate/headers"
	"github.com/tidegate/tidegate/httpmw/clientip"
	"github.com/tidegate/tidegate/store/open"
)

func cached(c *gin.Context) { c.Status(http.StatusOK) }

func main() {
	%s
	r.POST("/orders", func(c *gin.Context) { c.Status(http.StatusCreated) })
	ask(r, 25, "POST", "/orders")
}
` + askSource
