# Everything that CI does, a checkout does too, with Go, git, make and a C compiler.

GO ?= go
FUZZTIME ?= 60s
# Building the control plane for the first time takes most of this.
E2E_TIMEOUT ?= 90m
# What one run of conformance compares. Two cores do about 110,000 calculations or 20,000
# reconciles a second, Kubernetes' code and ours together.
CALCULATIONS ?= 20000000
RECONCILES ?= 10000000
# Whether what encode calls unreachable is tried with every value or with the two ends.
ENCODE ?= full
LINT := $(GO) tool -modfile=tools/go.mod golangci-lint
RELEASE := $(GO) tool -modfile=tools/release/go.mod
# Where govulncheck reads advisories; file:///DIR is a copy.
VULNDB ?= https://vuln.go.dev
CONTROLLER_GEN := $(GO) tool -modfile=tools/go.mod controller-gen

# The race detector is written in C.
export CGO_ENABLED = 1

.DEFAULT_GOAL := help
.PHONY: help demo build test conformance mutants chaos e2e cluster generate lint fmt fuzz bench soak chart-test image image-test sbom licenses vuln verify

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Watch a queue wake a workload and put it back to zero, in this terminal
	$(GO) run ./cmd/demo

build: ## Build the programs into bin/
	$(GO) build -trimpath -o bin/ ./cmd/...

test: ## Run all tests with the race detector; brings its own Redis
	$(GO) test -race ./...
	cd tools/release && $(GO) test -race ./...

# Its packages are a module of their own, so that nobody depends on Kubernetes' controllers.
conformance: ## Compare the algorithm with the HPA controller's own code
	cd test/conformance && $(GO) test -v -count 1 -timeout 90m . -calculations $(CALCULATIONS) -reconciles $(RECONCILES) -encode $(ENCODE)
	@mkdir -p bin
	cd test/conformance && $(GO) test -count 1 -run 'TestReconciles|TestCalculations' -calculations 100000 -reconciles 100000 \
		-coverprofile ../../bin/conformance.cover -coverpkg 'k8s.io/kubernetes/pkg/controller/podautoscaler/...' . >../../bin/conformance.log || (cat ../../bin/conformance.log; exit 1)
	cd test/conformance && $(GO) run ./cmd/coverage ../../bin/conformance.cover

mutants: ## Break what decides and remembers in every place, and see which tests notice
	$(GO) run ./test/mutants

chaos: ## Break what the scalers depend on, and compare with a run that nothing disturbs
	$(GO) run ./test/chaos

# One package at a time: they measure, and share two cores. All its scenarios at once:
# they mostly wait. Their figures are part of the answer (-v).
e2e: ## Run against a real API server, HPA controller, KEDA and Redis
	$(GO) test -tags e2e -v -count 1 -p 1 -parallel 32 -timeout $(E2E_TIMEOUT) ./test/...

# A module of its own, so that nobody depends on Helm.
chart-test: ## Render the chart, and install it into a real API server
	cd test/chart && $(GO) test -tags e2e -v -count 1 -timeout $(E2E_TIMEOUT) .

image: ## Write the container images into bin/image, for linux/amd64 and linux/arm64
	@cd tools/release && $(GO) run ./image

image-test: ## Build the images twice for every platform, and run them
	$(GO) test -tags e2e -v -count 1 -timeout $(E2E_TIMEOUT) ./test/image -full

sbom: ## Write an SBOM of each program into bin/sbom
	@mkdir -p bin/sbom
	@set -e; for program in scaler adapter; do \
		CGO_ENABLED=0 $(RELEASE) cyclonedx-gomod app -json -licenses -std -main cmd/$$program -output bin/sbom/$$program.cdx.json .; \
	done

licenses: ## List the licences of all that is linked
	cd tools/release && $(GO) run ./licenses

vuln: ## Ask Go's vulnerability database about what the programs call
	$(RELEASE) govulncheck -db $(VULNDB) ./cmd/scaler ./cmd/adapter

cluster: ## Start what e2e runs against, with two scalers, until Ctrl-C
	@echo "compiling what starts it; the first time Kubernetes and KEDA too: half an hour on two cores"
	@$(GO) build -o bin/cluster ./test/e2e/cmd/cluster
	@bin/cluster $(ARGS)

generate: ## Generate the CRD and the copying code of pkg/apis
	$(CONTROLLER_GEN) object crd paths=./pkg/apis/... output:crd:dir=charts/dashpot/crds

lint: ## Run the linters of .golangci.yml
	$(LINT) run
	$(LINT) run --build-tags e2e ./test/...
	cd test/conformance && $(GO) tool -modfile=../../tools/go.mod golangci-lint run
	cd test/chart && $(GO) tool -modfile=../../tools/go.mod golangci-lint run --build-tags e2e
	cd tools/release && $(GO) tool -modfile=../go.mod golangci-lint run
	$(RELEASE) actionlint

fmt: ## Format the source
	$(LINT) fmt

# A package may have several targets, and go test fuzzes one at a time. Without the
# limit it spends most of its time making interesting inputs smaller.
fuzz: ## Run every fuzz target for FUZZTIME (60s)
	@set -e; packages=$$($(GO) list ./...); for package in $$packages; do \
		tests=$$($(GO) test -list '^Fuzz' $$package); \
		for target in $$(echo "$$tests" | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x $$package; \
		done; \
	done

bench: ## Measure every figure beside its baseline, and write docs/performance.md
	$(GO) run ./test/bench -write

soak: ## Let policies come and go for half an hour, and see what is left
	$(GO) run ./test/bench -rows '^soak$$' -write

verify: ## Check formatting, vet, module files, generated files and linters, and change nothing
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
		if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags e2e ./test/...
	cd test/conformance && $(GO) vet ./...
	cd test/chart && $(GO) vet -tags e2e ./...
	cd tools/release && $(GO) vet ./...
	$(GO) mod tidy -diff
	cd test/conformance && $(GO) mod tidy -diff
	cd test/chart && $(GO) mod tidy -diff
	cd test/chart/crds && $(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff
	cd tools/release && $(GO) mod tidy -diff
	$(GO) test -count 1 -run TestGeneratedIsCurrent ./pkg/apis/...
	$(MAKE) lint
