# Everything a developer runs. `make` lists it.
GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
ADDR        ?= 127.0.0.1:8080
FRAMEWORK   ?= gin
FUZZTIME    ?= 3s

# The least share of statements, in percent, that tests of these packages run.
COVERED     := core core/algo headers store/memstore
COVERAGE    := 90

# The tests start servers of their own, and fail where there is none to start.
REDIS       ?= redis-server

.PHONY: help run servers test check fmt vet lint arrows race fuzz cover

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

run: ## start the order service and say what to try; FRAMEWORK=gin|echo|http ADDR=host:port
	@$(GO) build -o .orders ./examples/orders && exec ./.orders -framework $(FRAMEWORK) -addr $(ADDR)

servers: ## install the servers that the tests start, where they are missing (Debian)
	@command -v $(REDIS) >/dev/null || { sudo=$$(command -v sudo || true); \
		$$sudo apt-get update -q && $$sudo apt-get install -q -y --no-install-recommends redis-server; }

test: servers ## run every test
	$(GO) test ./...

check: fmt vet lint arrows race fuzz cover ## all that must hold before a change is merged

fmt: ## list files that gofmt would change
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not formatted:"; echo "$$files"; exit 1; fi

vet:
	$(GO) vet ./...
	cd internal/bench && $(GO) vet ./...

lint: ## staticcheck
	$(GO) run $(STATICCHECK) ./...

arrows: ## who may import whom, and what can be read off the source
	$(GO) test -count=1 .

race: servers ## run every test under the race detector
	$(GO) test -race ./...

fuzz: ## run every fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "fuzz $$target $${pkg#github.com/tidegate/tidegate/}"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$pkg > .fuzz.out 2>&1 || { cat .fuzz.out; rm -f .fuzz.out; exit 1; }; \
		done; \
	done; rm -f .fuzz.out

cover: servers ## check that tests run at least COVERAGE percent of the packages that decide
	@set -e; for room in $(COVERED); do \
		out=$$($(GO) test -cover ./$$room | tail -1); \
		echo "$$out" | awk -v room=$$room -v least=$(COVERAGE) '{ for (i = 1; i <= NF; i++) if ($$i ~ /%$$/) { got = $$i + 0; seen = 1 } } \
			END { printf "%-16s %.1f%% covered\n", room, got; if (!seen || got < least) { print "want at least " least "%"; exit 1 } }'; \
	done
