# Go, make, git and a POSIX shell are all that this needs.
# What it builds goes to bin/, and is built again only when it is not current.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

COMMANDS ?= ./cmd/...
BIN := bin
# What the commands report as their version.
VERSION ?= $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || \
	echo v0.0.0-dev$$(git describe --always --dirty 2>/dev/null | sed 's/^/+/'))
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
STAMP = $(foreach p,component-base/version client-go/pkg/version, \
	-X k8s.io/$p.gitVersion=$(VERSION) -X k8s.io/$p.gitCommit=$(COMMIT))

# Leaves out the tracing pages of gRPC, which nothing serves. Their templates call methods
# by name, for which the linker would keep the methods of all types: 32 MB of the daemon.
TAGS := grpcnotrace
# -w leaves out what debuggers read, -s the names of symbols too.
STRIP := -s -w
# Static, and the same wherever it is built. The linter takes the same flags, to
# find in the build cache what the commands have left there.
STATIC = CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -trimpath -buildvcs=false -tags=$(TAGS)"
# The race detector needs a C compiler.
RACE ?= $(shell go build -race runtime/cgo 2>/dev/null && echo -race)
LINT := bin/tools/golangci-lint
HUGO := bin/tools/hugo
# Prometheus and its tool. Of its ways to find targets the tests need that by files only.
PROMETHEUS := bin/tools/prometheus bin/tools/promtool
HELM := bin/tools/helm
KUBECTL := bin/tools/kubectl
# The modules with the definitions of the custom resources that the chart and its examples have.
CRDS := github.com/prometheus-operator/prometheus-operator sigs.k8s.io/cluster-api
INCUMBENT := bin/incumbent/vsphere-cloud-controller-manager
# The release of Go that makes the image and releases, which are the same wherever it runs.
# Where another one is installed, it is taken from Go's module proxy.
GO_RELEASE := go1.26.8
# Where the image will be pushed to, without a tag, and where the sources are.
IMAGE ?= vsphere-cloud-controller-manager
SOURCE ?=
MAKE_RELEASE = GOTOOLCHAIN=$(GO_RELEASE) go run -C .ci/release . -source '$(CURDIR)' \
	-version '$(VERSION)' -image '$(IMAGE)' -url '$(SOURCE)'
MODULES := . test/controlplane test/incumbent .ci/tools .ci/dashboard .ci/helm .ci/crds .ci/release

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## build the commands into bin/
	@echo "build: the commands, into bin/ (three minutes the first time)"
	@go mod download
	@$(STATIC) go build -ldflags '$(STRIP) $(STAMP)' -o $(BIN)/ $(COMMANDS)

.PHONY: image
image: ## make the daemon's image without Docker, into bin/image (VERSION= IMAGE=)
	@echo "image: $(VERSION), for amd64 and arm64 (six minutes the first time)"
	@$(MAKE_RELEASE) -out '$(CURDIR)/bin/image' image

.PHONY: release
release: ## make all files of a release, into dist/ (VERSION=v1.37.0, SNAPSHOT=1 to try it)
	@echo "release: $(VERSION), into dist/$(VERSION) (ten minutes the first time)"
	@$(MAKE_RELEASE) -out '$(CURDIR)/dist/$(VERSION)' $(if $(SNAPSHOT),-snapshot) dist

.PHONY: size
size: ## print what makes the size of the daemon
	@$(MAKE_RELEASE) size

.PHONY: demo
demo: build ## show three vCenters labeling the Nodes of a real control plane (DEMO_KEEP=1 keeps them)
	@go run -C test/controlplane . etcd kube-apiserver
	@echo "demo: building it (a minute the first time)"
	@$(STATIC) go build -o bin/demo ./test/demo
	@exec bin/demo

.PHONY: test
test: build controlplane incumbent helm ## run all tests, with the race detector if there is a C compiler
	@echo "test: all packages,$(if $(RACE),, without the race detector for want of a C compiler,)" \
		"against the control plane (35 minutes)"
	@# The scenarios take longest and mostly wait, so they begin first.
	@go test $(RACE) -timeout 40m ./test/scenarios ./...
	@go test -C test/controlplane $(RACE) -timeout 5m ./...
	@go test -C .ci/release -timeout 5m ./...

.PHONY: check-release
check-release: $(HELM) ## make a release twice, in two folders, and compare (before a release: half an hour)
	@VZONES_RELEASE=$(or $(if $(filter-out file,$(origin VERSION)),$(VERSION)),$$(sed -n 's/^appVersion: //p' manifests/chart/Chart.yaml)) GOTOOLCHAIN=$(GO_RELEASE) go test -C .ci/release -count=1 -timeout 3h -v -run 'TestTwoFolders' .
	@test "$$(uname -s) $$(id -u)" = "Linux 0" || \
		echo "check-release: NOT CHECKED: that the daemon starts in its image, which takes root on Linux" >&2

# Both targets below take them.
SEED ?= 1

.PHONY: layouts
layouts: COUNT ?= 100000
layouts: ## compare zones and levels of random fleets with an oracle (SEED=1 COUNT=100000)
	@VZONES_LAYOUTS=$(COUNT) VZONES_LAYOUT_SEED=$(SEED) go test -count=1 -timeout 60m -v -run 'TestZonesAreUniqueOrFound|TestComposedIsItsParts' ./topology

.PHONY: orders
orders: COUNT ?= 10000
orders: ## play the same facts in random orders of events (SEED=1 COUNT=10000: ten minutes)
	@echo "orders: $(COUNT) of them, from seed $(SEED) on (18 a second)"
	@go test -count=1 -timeout 0 -v -run 'TestOrders$$' ./provider -orders.seed=$(SEED) -orders.count=$(COUNT)

.PHONY: alerts
alerts: controlplane $(PROMETHEUS) ## play each alert with a real Prometheus (before a release: a quarter of an hour)
	@echo "alerts: each one with the daemon, simulated vCenters, a real API server and Prometheus"
	@VZONES_ALERTS=1 go test -count=1 -timeout 60m -v ./test/alerts

# Not a part of test: it needs Node.js and npm.
.PHONY: editors
editors: ## show what editors say of the configuration with its schema (needs Node.js 20)
	@mkdir -p bin/editors && cp test/editors/package.json test/editors/package-lock.json bin/editors/
	@npm ci --prefix bin/editors --ignore-scripts --no-audit --no-fund --loglevel=error
	@node test/editors/validate.mjs

.PHONY: bench
bench: build ## measure requests, time, CPU and memory of the daemon (BENCH=-short: a quarter of an hour)
	@go run -C test/controlplane . etcd kube-apiserver
	@echo "bench: building it (a minute the first time)"
	@$(STATIC) go build -ldflags '-s -w' -o bin/bench ./test/bench
	@$(STATIC) go build -ldflags '-s -w' -o bin/bench-floor ./test/bench/floor
	@exec bin/bench $(BENCH)

.PHONY: bench-tool
bench-tool: build ## time the operator's tool with 5,000 Nodes on 10 vCenters, and 50,000 Pods (two minutes)
	@go run -C test/controlplane . etcd kube-apiserver
	@VZONES_SCALE='$(CURDIR)/$(BIN)/vzones' go test -count=1 -timeout 30m -v -run 'TestScale$$' ./cmd/vzones

# Kubernetes' minors that make compat takes, all that there are modules for where it is
# empty, and those entries of test/compat/list.yaml that it runs, all where it is empty.
# What it finds goes to docs/reference/compatibility.md.
K8S ?=
ONLY ?=

.PHONY: compat
compat: build ## run the demo and chosen tests with older Kubernetes too (K8S=1.36: one minor only)
	@echo "compat: building the demo and the harness (a minute the first time)"
	@$(STATIC) go build -o bin/demo ./test/demo
	@$(STATIC) go build -o bin/compat ./test/compat
	@ONLY="$(ONLY)" exec bin/compat $(K8S)

.PHONY: verify
verify: lint check-structure check-platforms check-tidy check-modules check-generated ## lint, and check structure, wording, go.mod, go.sum, the modules and generated files

.PHONY: lint
lint: $(LINT) ## run gofmt, goimports, vet and the linters of .golangci.yml
	@echo "lint: gofmt, goimports, vet and the linters of .golangci.yml (two minutes the first time)"
	@$(STATIC) $(LINT) run
	@cd test/controlplane && $(STATIC) ../../$(LINT) run
	@cd .ci/release && $(STATIC) ../../$(LINT) run

.PHONY: fmt
fmt: $(LINT) ## format the Go files
	@$(LINT) fmt
	@cd test/controlplane && ../../$(LINT) fmt
	@cd .ci/release && ../../$(LINT) fmt

# make test runs these tests too, after half an hour. Here they take seconds.
.PHONY: check-structure
check-structure:
	@echo "check-structure: how the packages are built, and the wording"
	@$(STATIC) go test -run 'Test(Structure|Wording)$$' ./test/structure

# macOS is near enough to Linux to be left to make release.
.PHONY: check-platforms
check-platforms:
	@echo "check-platforms: the tool builds for Windows (half a minute the first time)"
	@$(STATIC) GOOS=windows GOARCH=amd64 go build -o /dev/null ./cmd/vzones

.PHONY: check-tidy
check-tidy:
	@echo "check-tidy: go.mod and go.sum of $(MODULES)"
	@status=0; for m in $(MODULES); do go mod tidy -C $$m -diff || status=1; done; exit $$status

.PHONY: check-modules
check-modules:
	@echo "check-modules: the modules of $(MODULES) are those that go.sum has"
	@status=0; for m in $(MODULES); do go mod download -C $$m && go mod verify -C $$m || status=1; done; exit $$status

# Not a part of verify: it needs https://vuln.go.dev, and what it finds changes without
# a change here.
.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in what the commands call (before a release)
	@echo "vulncheck: building govulncheck, into bin/tools"
	@go mod download -C .ci/tools
	@$(STATIC) go build -C .ci/tools -ldflags '-s -w' -o $(abspath bin/tools/govulncheck) golang.org/x/vuln/cmd/govulncheck
	@bin/tools/govulncheck $(COMMANDS)

.PHONY: check-generated
check-generated:
	@echo "check-generated: what make generate writes is current"
	@.ci/check-generated

.PHONY: generate
generate: ## write the generated files
	@go generate ./...

# Not a part of verify, for Hugo takes two minutes to build. Its modules are not among
# MODULES, since it builds without most of them; the build compares those with go.sum.
.PHONY: docs
docs: $(HUGO) ## build the documentation site into bin/site, and check it
	@rm -rf bin/site
	@HUGO_PARAMS_VERSION=$(VERSION) $(HUGO) --source . --config docs/site/hugo.toml --configDir docs/site/config \
		--destination bin/site --noBuildLock --ignoreCache --panicOnWarning >bin/hugo.log 2>&1 || { cat bin/hugo.log >&2; exit 1; }
	@VZONES_SITE=$(abspath bin/site) go test -count=1 -skip InBrowser ./docs/site
	@echo "docs: bin/site/index.html, which needs no server"

# Not a part of verify: it needs Chromium.
.PHONY: docs-browser
docs-browser: docs ## look at the documentation site in Chromium, at two widths (before a release)
	@VZONES_SITE=$(abspath bin/site) VZONES_CHROMIUM=$${VZONES_CHROMIUM:-chromium} go test -count=1 -v -run InBrowser -timeout 20m ./docs/site

.PHONY: pictures
pictures: controlplane $(KUBECTL) ## write the outputs and the pictures that the documentation shows of the tool
	@echo "pictures: running the tool against simulated vCenters (five minutes the first time)"
	@go test -count=1 ./cmd/vzones -run 'TestPages$$' -update

# Not a part of test: it needs Chromium and npm. Its screenshots are in bin/map. How long 5,000
# Nodes take says something only where nothing else runs.
.PHONY: map-browser
map-browser: ## look at the map of vzones in Chromium, with axe-core, and time it (before a release)
	@mkdir -p bin/browser bin/map && cp test/browser/package.json test/browser/package-lock.json bin/browser/
	@npm ci --prefix bin/browser --ignore-scripts --no-audit --no-fund --loglevel=error
	@VZONES_AXE=$(abspath bin/browser/node_modules/axe-core/axe.min.js) VZONES_SHOTS=$(abspath bin/map) \
		VZONES_CHROMIUM=$${VZONES_CHROMIUM:-chromium} go test -count=1 -v -run InBrowser -timeout 20m ./cmd/vzones/fleetmap/render

.PHONY: controlplane
controlplane: ## build etcd, kube-apiserver, kube-controller-manager and kube-scheduler
	@go run -C test/controlplane .

.PHONY: incumbent
incumbent: $(INCUMBENT) ## build the vSphere CPI, from which tests take a cluster over

.PHONY: helm
helm: $(HELM) $(KUBECTL) ## build Helm and kubectl, with which tests render and install the chart
	@go mod download -C .ci/crds $(CRDS)

.PHONY: clean
clean: ## remove bin/ and dist/
	rm -rf bin dist

$(HUGO): .ci/docs/go.mod .ci/docs/go.sum
	@echo "docs: building Hugo, into $@ (two minutes the first time)"
	@$(STATIC) go build -C .ci/docs -ldflags '-s -w' -o $(abspath $@) github.com/gohugoio/hugo

$(INCUMBENT): test/incumbent/go.mod test/incumbent/go.sum
	@echo "incumbent: building the vSphere CPI, into $@ (three minutes the first time)"
	@go mod download -C test/incumbent
	@$(STATIC) go build -C test/incumbent -ldflags '-s -w' -o $(abspath $@) k8s.io/cloud-provider-vsphere/cmd/$(notdir $@)

$(PROMETHEUS): .ci/prometheus/go.mod .ci/prometheus/go.sum
	@echo "alerts: building $(notdir $@), into $@ (several minutes the first time)"
	@$(STATIC) go build -C .ci/prometheus -tags remove_all_sd -ldflags '-s -w' -o $(abspath $@) github.com/prometheus/prometheus/cmd/$(notdir $@)

$(LINT): .ci/tools/go.mod .ci/tools/go.sum
	@echo "lint: building golangci-lint, into $@ (three minutes the first time)"
	@go mod download -C .ci/tools
	@$(STATIC) go build -C .ci/tools -ldflags '-s -w' -o $(abspath $@) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# A module of its own, with the versions of Kubernetes' libraries that this one has: so
# most of it is in the build cache already.
$(HELM): .ci/helm/go.mod .ci/helm/go.sum
	@echo "helm: building it, into $@ (two minutes the first time)"
	@go mod download -C .ci/helm
	@$(STATIC) go build -C .ci/helm -ldflags '-s -w' -o $(abspath $@) helm.sh/helm/v4/cmd/helm

# Of that module too, which has nearly all of it for Helm: a quarter of a minute.
$(KUBECTL): .ci/helm/go.mod .ci/helm/go.sum .ci/helm/kubectl/main.go
	@echo "helm: building kubectl, into $@"
	@go mod download -C .ci/helm
	@$(STATIC) go build -C .ci/helm -ldflags '-s -w' -o $(abspath $@) ./kubectl
