# Requires only Go, make, git and a POSIX shell. Targets build into bin/ and rebuild only outdated files.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:

# All builds and tests use the same flags, so that Go compiles each package only once; the race detector
# needs separate packages. grpcnotrace omits gRPC's tracing pages, whose templates make the linker keep the
# methods of all types: 32 MB of the daemon. Without DWARF and symbols, builds take 10% less time.
FLAGS := -trimpath -buildvcs=false -tags=grpcnotrace -gcflags=all=-dwarf=false -ldflags=-s
export GOFLAGS := $(strip $(shell go env GOFLAGS) $(FLAGS))
export CGO_ENABLED := 0

# With 2 GiB of available memory per core, heaps may grow to five times the live data: garbage collection is
# a fifth of the work of compilers, tests and API servers.
FAST := $(shell awk '/^MemAvailable/ && $$2 >= 2097152 * '"$$(nproc)"' { print "GOGC=400" }' /proc/meminfo 2>/dev/null)
BUILD := $(FAST) .ci/build

COMMANDS ?= ./cmd/...
BIN := bin
DAEMON := ./cmd/vsphere-cloud-controller-manager
# The version that the commands report.
ifdef SNAPSHOT # version of the newest section in the changelog
VERSION ?= v$(shell sed -n 's/^## \[\([0-9.]*\)].*/\1/p;/^## /q' CHANGELOG.md)-snapshot
endif
VERSION ?= $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || \
	echo v0.0.0-dev$$(git describe --always --dirty 2>/dev/null | sed 's/^/+/'))
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
STAMP = $(foreach p,component-base/version client-go/pkg/version, \
	-X k8s.io/$p.gitVersion=$(VERSION) -X k8s.io/$p.gitCommit=$(COMMIT))

# The programs of a control plane. Programs in $KUBEBUILDER_ASSETS are not built.
controlplane = $(foreach p,$1,$(if $(wildcard $(KUBEBUILDER_ASSETS)/$p),,bin/controlplane/$p))
API := $(call controlplane,etcd kube-apiserver)
PODS := $(call controlplane,kube-scheduler kube-controller-manager)
KUBELET := $(call controlplane,hollow-kubelet)

LINT := bin/tools/golangci-lint
ACTIONLINT := bin/tools/actionlint
PROMTOOL := bin/tools/promtool
HELM := bin/tools/helm
OCI_REGISTRY := bin/tools/registry
KUBECTL := bin/tools/kubectl
# The modules with the CustomResourceDefinitions for the chart and its examples.
CRDS := github.com/prometheus-operator/prometheus-operator sigs.k8s.io/cluster-api
INCUMBENT := bin/incumbent/vsphere-cloud-controller-manager
UPSTREAM := bin/upstream/e2e.test bin/upstream/kwok
# The Go release for images and releases, which makes them reproducible. If another release is installed, Go
# downloads this release from its module proxy.
GO_RELEASE := go1.26.8
# The repository that the image will be pushed to, without a tag, and the URL of the sources.
IMAGE ?= vsphere-cloud-controller-manager
SOURCE ?=
# The validated version of Go's cryptographic module.
ifdef FIPS
export GOFIPS140 := v1.0.0
endif
PINNED = GOTOOLCHAIN=$(GO_RELEASE) GOAMD64=v1 GOARM64=v8.0 GOFLAGS='$(FLAGS)'
# SOURCE_DATE_EPOCH overrides the time of the commit, for builds without git.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
LICENSED := bin/licenses/LICENSE
RELEASE_TOOLS := $(addprefix bin/tools/,goreleaser syft go-licenses krew validate-krew-manifest)
# Without Prometheus and GoReleaser, whose builds do not need most of their modules.
MODULES := . test/controlplane test/incumbent test/upstream/programs .ci/tools .ci/actionlint .ci/helm .ci/crds .ci/release
# These modules share packages, mostly of Kubernetes.
SAME_VERSIONS := go.mod test/controlplane/go.mod test/upstream/programs/go.mod .ci/helm/go.mod

.PHONY: help
help:
	@awk -F ':.*## ' '/^##@ / { printf "%s%s\n", separator, substr($$0, 5); separator = "\n" } \
		/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

# For a shell: eval "$(make env)".
.PHONY: env
env:
	@echo "export GOFLAGS='$(GOFLAGS)' CGO_ENABLED=0"

##@ Try it (docs/tutorial/first-cluster.md)

.PHONY: demo
demo: ## label the Nodes of a real control plane from three simulated vCenters (DEMO_KEEP=1 keeps them running, DEMO_KEEP=cluster without a daemon)
	@$(if $(wildcard bin/demo),,echo "demo: the first run builds the daemon, etcd and Kubernetes from source: about four minutes on two idle cores")
	@$(MAKE) build $(if $(DEMO_KEEP),,COMMANDS=$(DAEMON))
	@$(MAKE) -s $(API) $(if $(filter cluster,$(DEMO_KEEP)),$(PODS))
	@$(BUILD) demo -o bin/demo ./test/demo
	@exec bin/demo

.PHONY: helm
helm: $(HELM) $(KUBECTL) $(OCI_REGISTRY) ## build Helm, kubectl and a registry for the tutorial and the tests of the chart
	@go mod download -C .ci/crds $(CRDS)

.PHONY: incumbent
incumbent: $(INCUMBENT) ## build the vSphere CPI for the tutorial and the tests of a takeover

##@ Build

.PHONY: build
build: ## build the commands into bin/
	@$(BUILD) vzones -ldflags '-s $(STAMP)' -o $(BIN)/ $(COMMANDS)

# The architectures of the image, and its folder.
ARCHITECTURES := amd64 arm64
IMAGE_DIR := bin/image

.PHONY: image
image: $(LICENSED) ## build the daemon's image without Docker into bin/image (VERSION= IMAGE= FIPS=1)
	@echo "image: $(VERSION), for $(ARCHITECTURES) (six minutes for both the first time)"
	@mkdir -p $(IMAGE_DIR)
	@for arch in $(ARCHITECTURES); do GOTOOLCHAIN=$(GO_RELEASE) GOOS=linux GOARCH=$$arch GOAMD64=v1 GOARM64=v8.0 \
		$(MAKE) build GOFLAGS='$(FLAGS)' COMMANDS=$(DAEMON) BIN=$(IMAGE_DIR)/$$arch || exit 1; done
	@$(PINNED) go run -C .ci/release . -version '$(VERSION)' -image '$(IMAGE)' -url '$(SOURCE)' \
		-commit '$(COMMIT)' -created '$(SOURCE_DATE_EPOCH)' -licenses '$(abspath bin/licenses)' \
		-out '$(abspath $(IMAGE_DIR))/vsphere-cloud-controller-manager.oci.tar' \
		$(foreach a,$(ARCHITECTURES),$a='$(abspath $(IMAGE_DIR)/$a)/vsphere-cloud-controller-manager') >$(IMAGE_DIR)/name
	@cat $(IMAGE_DIR)/name

.PHONY: controlplane
controlplane: $(API) $(PODS) $(KUBELET) ## build etcd, kube-apiserver, kube-scheduler, kube-controller-manager and a kubelet without containers

.PHONY: release
release: $(RELEASE_TOOLS) $(HELM) ## create all files of a release in dist/ (VERSION=v1.37.0, or SNAPSHOT=1 for a trial)
	@echo "release: $(VERSION), into dist (three quarters of an hour the first time)"
	@bin/tools/goreleaser check
	@PATH="$(abspath bin/tools):$$PATH" $(PINNED) GORELEASER_CURRENT_TAG='$(VERSION)' RELEASE_HOME='$(or $(SOURCE),https://git.example.com/vzones)' \
		RELEASE_LDFLAGS='-s $(STAMP)' bin/tools/goreleaser release --clean --timeout 2h --parallelism 1 \
		$(if $(SNAPSHOT),--snapshot,--skip=publish)
	@cp bin/release/* dist/
	@bin/tools/validate-krew-manifest -skip-install -manifest dist/krew/vzones.yaml
	@rm -rf bin/krew && KREW_ROOT='$(abspath bin/krew)' bin/tools/krew install --manifest dist/krew/vzones.yaml \
		--archive dist/vzones_$(VERSION)_$$(go env GOOS)_$$(go env GOARCH).tar.gz

# The registry folder for the chart.
CHARTS ?= $(patsubst %/,%,$(dir $(IMAGE)))/charts
.PHONY: publish
publish: $(HELM) bin/tools/crane ## push the image and the chart in dist/ to IMAGE and CHARTS (COSIGN=cosign signs them)
	@COSIGN='$(COSIGN)' .ci/publish '$(IMAGE)' '$(CHARTS)'

# The files of the release, with the signature and the provenance of their checksums.
.PHONY: github-release
github-release: ## create the release of VERSION with the files in dist/ on GitHub (PROVENANCE=FILE)
	@cp '$(PROVENANCE)' dist/SHA256SUMS.provenance.sigstore.json
	@cd dist && gh release create '$(VERSION)' --verify-tag --notes-file RELEASE_NOTES.md SHA256SUMS* krew/vzones.yaml \
		$$(awk '{ print $$2 }' SHA256SUMS)

.PHONY: test-release
test-release: $(HELM) $(KUBECTL) $(OCI_REGISTRY) bin/tools/crane $(API) $(PODS) ## install the files in dist/ from a registry on loopback into the demo's cluster
	@$(BUILD) demo -o bin/demo ./test/demo
	@.ci/test-release

# Create the files that GoReleaser does not create, in bin/release.
.PHONY: release-files
release-files: image $(HELM) bin/tools/syft
	@.ci/release-files '$(VERSION)' '$(IMAGE)' $(if $(SNAPSHOT),try)

.PHONY: clean
clean: ## remove bin/ and dist/
	rm -rf bin dist

##@ Test a change

# More packages in parallel than processors, because tests mostly wait.
TEST := $(FAST) go test -p 4 -vet=off
# The tests that use a control plane with -short; all others that need it are skipped.
CORE := TestScenarios$$|TestFailures$$|TestClusterScripts$$

.PHONY: check
check: ## check the format, vet, and run the tests that need no control plane (PKG=./vcenter/...)
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || \
		{ echo "check: make fmt formats" $$unformatted >&2; exit 1; }
	@go vet $(PKG)
	@$(TEST) -short -skip '$(CORE)' $(PKG)

.PHONY: test
test: build $(API) $(KUBELET) ## run the unit tests, and the core scenarios against a real control plane
	@$(TEST) -short -timeout 20m ./test/scenarios ./...

# Packages without goroutines are skipped. Those in vcenter run one at a time: their tests wait for answers of simulated
# vCenters, which take seconds if another package keeps the processors busy.
RACE := $(FAST) CGO_ENABLED=1 go test -race -vet=off -short -timeout 40m
SKIPPED_BY_RACE := docs|config|topology|provider/plan|provider/addresses
.PHONY: test-race
test-race: $(API) $(KUBELET) ## run the unit tests and some scenarios with the race detector (needs a C compiler)
	@$(RACE) ./test/scenarios $$(go list ./... | grep -Ev "^$$(go list -m)/($(SKIPPED_BY_RACE)|vcenter)(/|\$$)")
	@$(RACE) -p 1 ./vcenter/...

.PHONY: test-scenarios
test-scenarios: build $(API) $(KUBELET) ## run the scenarios and vzones scripts that make test skips
	@$(TEST) -timeout 40m ./test/scenarios -rest
	@$(TEST) -timeout 40m -run 'TestClusterScripts$$' ./cmd/vzones

.PHONY: fmt
fmt: $(LINT) ## format the Go files
	@$(LINT) fmt
	@cd .ci/release && ../../$(LINT) fmt

.PHONY: lint
lint: $(LINT) $(ACTIONLINT) ## run gofmt, goimports, vet, the linters of .golangci.yml, and actionlint
	@echo "lint: gofmt, goimports, vet and the linters of .golangci.yml (two minutes the first time)"
	@$(LINT) run
	@cd .ci/release && ../../$(LINT) run
	@$(ACTIONLINT)

.PHONY: verify
verify: lint check-platforms check-versions check-tidy check-modules ## lint, and check versions, go.mod, go.sum and the modules

# A developer runs it once: RELEASING.md.
.PHONY: adopt
adopt: ## set the project's host (MODULE=github.com/acme/vzones DOMAIN=vzones.acme.com REGISTRY=ghcr.io/acme CONTACT= OWNERS=)
	@.ci/adopt '$(MODULE)' '$(DOMAIN)' '$(REGISTRY)' '$(CONTACT)' '$(OWNERS)'

.PHONY: test-adopt
test-adopt: ## adopt, build and check a scratch clone with made-up values (four minutes)
	@.ci/test-adopt build check

##@ Test at length

.PHONY: test-all
test-all: build controlplane incumbent helm $(PROMTOOL) ## run all tests, with every supported minor version of Kubernetes (before a release)
	@$(FAST) go test -p 2 -vet=off -timeout 60m ./test/scenarios ./...
	@$(FAST) go test -vet=off -short -timeout 60m -run 'TestScenarios$$' ./test/scenarios -kubelets
	@$(FAST) go test -vet=off -timeout 40m ./test/scenarios -outofservice
	@go test -C .ci/release -timeout 5m ./...
	@$(MAKE) test-race layouts orders alerts compat replay kubelet

# Parameters of the targets below.
PKG ?= ./...
SEED ?= 1
.PHONY: layouts
layouts: COUNT ?= 100000
layouts: ## compare the zones and levels of random fleets with an oracle (SEED=1 COUNT=100000)
	@VZONES_LAYOUTS=$(COUNT) VZONES_LAYOUT_SEED=$(SEED) go test -count=1 -timeout 60m -v -run 'TestZonesAreUniqueOrFound|TestComposedIsItsParts' ./topology

.PHONY: orders
orders: COUNT ?= 10000
orders: ## play the same facts in random orders (SEED=1 COUNT=10000: ten minutes)
	@echo "orders: $(COUNT) of them, from seed $(SEED) on (18 a second)"
	@go test -count=1 -timeout 0 -v -run 'TestOrders$$' ./provider -orders.seed=$(SEED) -orders.count=$(COUNT)

.PHONY: volumes
volumes: build controlplane ## measure how long the volume of a lost VM stays attached (nine minutes)
	@go test -count=1 -timeout 20m -v -run 'TestVolumesOfALostVM$$' ./test/volumes

.PHONY: fuzz
fuzz: TIME ?= 1m
fuzz: ## fuzz every parser of untrusted input (TIME=1m for each: half an hour)
	@.ci/fuzz $(TIME)

.PHONY: alerts
alerts: $(PROMTOOL) ## check the alerting rules and the dashboard with promtool (a minute)
	@$(PROMTOOL) check rules --lint=all --lint-fatal manifests/chart/files/alerts.yaml
	@$(PROMTOOL) test rules manifests/chart/files/alerts_test.yaml
	@go test -run 'TestQueriesNameMetrics|TestDashboardShows' $(DAEMON)/app

.PHONY: bench
bench: build $(API) ## measure requests, time, CPU and memory of the daemon (BENCH=-short: a quarter of an hour)
	@$(BUILD) bench -o bin/bench ./test/bench
	@$(BUILD) bench -o bin/bench-floor ./test/bench/floor
	@exec bin/bench $(BENCH)

# RECORDINGS is a folder of archives, DIR an operator's own folder, REGION and ZONE are the tag categories.
RECORDINGS ?= ../shared/recordings
REGION ?= region
ZONE ?= zone

.PHONY: replay
replay: ## rehearse on recorded vCenters (RECORDINGS=../shared/recordings, or DIR= of govc object.save: docs/how-to/rehearse.md)
	@$(if $(or $(DIR),$(wildcard $(RECORDINGS)/*.tar.gz)),$(MAKE) replay-run,echo "replay: skipped: no recordings (*.tar.gz) in $(RECORDINGS)")

.PHONY: replay-run
replay-run: build $(API)
	@$(BUILD) replay -o bin/replay ./test/replay
	@exec bin/replay -recordings '$(RECORDINGS)' -dir '$(DIR)' -region '$(REGION)' -zone '$(ZONE)'

# The minor versions of Kubernetes for make compat, by default all with a module. Versions that pass are
# recorded in docs/reference/compatibility.md.
K8S ?=

.PHONY: compat
compat: build ## run the demo and selected tests with several Kubernetes versions (K8S=1.36: one minor version only)
	@$(BUILD) compat -o bin/demo ./test/demo
	@$(BUILD) compat -o bin/compat ./test/compat
	@exec bin/compat $(K8S)

# Not a part of test-all, because e2e.test is slow to build and its specs mostly wait.
.PHONY: upstream
upstream: build $(API) $(PODS) $(UPSTREAM) ## run the specs of Kubernetes' own e2e.test for zones, Nodes and their addresses (a quarter of an hour the first time)
	@$(BUILD) upstream -o bin/upstream/upstream ./test/upstream
	@exec bin/upstream/upstream

# Root's containerd and kubelets run in namespaces and leave nothing outside bin/kubelet.
.PHONY: kubelet
kubelet: ## run the image with real kubelets, containerd and crun, from the manifest and the chart (as root on Linux)
	@reason=$$(.ci/kubelet) && \
		if [ -n "$$reason" ]; then echo "kubelet: skipped: $$reason"; else $(MAKE) kubelet-run; fi

.PHONY: kubelet-run
kubelet-run: $(API) $(PODS) bin/controlplane/kubelet $(HELM) $(KUBECTL)
	@$(MAKE) image ARCHITECTURES=$$(go env GOARCH) IMAGE_DIR=bin/kubelet/image
	@$(BUILD) kubelet -o bin/kubelet/ ./test/kubelet/...
	@exec bin/kubelet/kubelet -image "$$(sed 's/@.*//' bin/kubelet/image/name)"

# Only make release builds for macOS, which is similar to Linux.
.PHONY: check-platforms
check-platforms:
	@echo "check-platforms: the tool builds for Windows (half a minute the first time)"
	@GOOS=windows GOARCH=amd64 $(BUILD) check-platforms -o /dev/null ./cmd/vzones

.PHONY: check-versions
check-versions:
	@echo "check-versions: modules have one version in $(SAME_VERSIONS)"
	@.ci/check-same-versions $(SAME_VERSIONS)

.PHONY: check-tidy
check-tidy:
	@echo "check-tidy: go.mod and go.sum of $(MODULES)"
	@status=0; for m in $(MODULES); do go mod tidy -C $$m -diff || status=1; done; exit $$status

.PHONY: check-modules
check-modules:
	@echo "check-modules: the modules of $(MODULES) are those that go.sum has"
	@status=0; for m in $(MODULES); do go mod download -C $$m && go mod verify -C $$m || status=1; done; exit $$status

$(LICENSED): go.mod go.sum LICENSE .ci/licenses .ci/goreleaser/go.mod
	@.ci/licenses

# Not a part of verify: it needs https://vuln.go.dev, and its result changes without a change here.
.PHONY: vulncheck
vulncheck: ## check the code that the commands call for known vulnerabilities (before a release)
	@$(BUILD) govulncheck -C .ci/tools -o $(abspath bin/tools/govulncheck) golang.org/x/vuln/cmd/govulncheck
	@bin/tools/govulncheck $(COMMANDS)

# $(call kubernetes,MODULE) returns the linker flags for a program of Kubernetes, which otherwise reports the
# version v0.0.0-master.
kubernetes = $$(go list -C $1 -m -f '{{.Version}}' k8s.io/kubernetes | awk -F '[v.]' \
	'{ v = "-X k8s.io/component-base/version.git"; print "-s", v "Version=" $$0, v "Major=" $$2, v "Minor=" $$3 }')

bin/controlplane/etcd: test/controlplane/go.mod
	@$(BUILD) etcd -C test/controlplane -o $(abspath $@) go.etcd.io/etcd/server/v3

bin/controlplane/hollow-kubelet: test/controlplane/go.mod test/controlplane/hollow-kubelet/main.go
	@$(BUILD) $(@F) -C test/controlplane -ldflags "$(call kubernetes,test/controlplane)" -o $(abspath $@) ./$(@F)

bin/controlplane/%: test/controlplane/go.mod
	@$(BUILD) $* -C test/controlplane -ldflags "$(call kubernetes,test/controlplane)" -o $(abspath $@) k8s.io/kubernetes/cmd/$*

# Programs of an older minor version, such as 1.36.
KUBERNETES := kube-apiserver kube-scheduler
$(KUBERNETES:%=bin/controlplane-\%/%): test/controlplane/versions/%/go.mod
	@$(BUILD) 'Kubernetes $*' -C $(<D) -ldflags "$(call kubernetes,$(<D))" -o $(abspath $(@D))/ $(KUBERNETES:%=k8s.io/kubernetes/cmd/%)

# go test -c does not print the packages that it compiles, so go build compiles what the test imports.
bin/upstream/e2e.test: test/upstream/programs/go.mod
	@$(BUILD) $(@F) -C $(<D) $$(go list -C $(<D) -f '{{join .TestImports " "}}' k8s.io/kubernetes/test/e2e)
	@$(FAST) go test -C $(<D) -c -vet=off -ldflags "$(call kubernetes,$(<D))" -o $(abspath $@) k8s.io/kubernetes/test/e2e

bin/upstream/kwok: test/upstream/programs/go.mod
	@$(BUILD) $(@F) -C $(<D) -o $(abspath $@) sigs.k8s.io/kwok/cmd/$(@F)
	@rm -rf $(@D)/stages && mkdir $(@D)/stages
	@cd "$$(go list -C $(<D) -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage" && \
		cp node/fast/node-initialize.yaml pod/fast/pod-ready.yaml pod/fast/pod-complete.yaml $(abspath $(@D))/stages/

$(INCUMBENT): test/incumbent/go.mod
	@$(BUILD) incumbent -C test/incumbent -o $(abspath $@) k8s.io/cloud-provider-vsphere/cmd/$(notdir $@)

# The tests need no service discovery.
$(PROMTOOL): .ci/prometheus/go.mod
	@$(BUILD) promtool -C .ci/prometheus -tags remove_all_sd -o $(abspath $@) github.com/prometheus/prometheus/cmd/promtool

$(LINT): .ci/tools/go.mod
	@$(BUILD) golangci-lint -C .ci/tools -o $(abspath $@) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(ACTIONLINT): .ci/actionlint/go.mod
	@$(BUILD) actionlint -C .ci/actionlint -o $(abspath $@) github.com/rhysd/actionlint/cmd/actionlint

bin/tools/goreleaser: .ci/goreleaser/go.mod
	@$(BUILD) goreleaser -C .ci/goreleaser -o $(abspath $@) github.com/goreleaser/goreleaser/v2

bin/tools/syft: .ci/goreleaser/go.mod
	@$(BUILD) syft -C .ci/goreleaser -o $(abspath $@) github.com/anchore/syft/cmd/syft

bin/tools/go-licenses: .ci/goreleaser/go.mod
	@$(BUILD) go-licenses -C .ci/goreleaser -o $(abspath $@) github.com/google/go-licenses

bin/tools/krew bin/tools/validate-krew-manifest: .ci/goreleaser/go.mod
	@$(BUILD) $(@F) -C .ci/goreleaser -o $(abspath $@) sigs.k8s.io/krew/cmd/$(@F)

$(HELM): .ci/helm/go.mod
	@$(BUILD) helm -C .ci/helm -o $(abspath $@) helm.sh/helm/v4/cmd/helm

$(OCI_REGISTRY) bin/tools/crane: .ci/release/go.mod
	@$(BUILD) $(@F) -C .ci/release -o $(abspath $@) github.com/google/go-containerregistry/cmd/$(@F)

$(KUBECTL): .ci/helm/go.mod .ci/helm/kubectl/main.go
	@$(BUILD) kubectl -C .ci/helm -o $(abspath $@) ./kubectl
