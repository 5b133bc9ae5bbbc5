# check=skip=InvalidDefaultArgInFrom
# The daemon's image: one static binary and the CA certificates; no shell, no root.
#
#   docker build -t vsphere-cloud-controller-manager \
#     --build-arg GO_IMAGE=golang:1.26@sha256:DIGEST \
#     --build-arg VERSION=v1.37.0 --build-arg COMMIT=$(git rev-parse HEAD) .
#
# Add --platform=linux/arm64 for another architecture; the build uses cross-compilation, not emulation.

# The Go 1.26 image for the build, by digest. There is no default because tags can move. See
# docs/how-to/build-an-image.md for its source.
ARG GO_IMAGE
# The base image. OpenShift's manifest requires one with /bin/bash.
ARG BASE_IMAGE=scratch
FROM --platform=$BUILDPLATFORM $GO_IMAGE AS source
ARG GO_IMAGE
RUN case "$GO_IMAGE" in \
    *@sha256:*) ;; \
    *) echo "GO_IMAGE is $GO_IMAGE: name it by its digest, as in golang:1.26@sha256:DIGEST" >&2; exit 1 ;; \
    esac
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download && go mod verify
COPY . .
ARG TARGETOS TARGETARCH
# The build context does not contain .git.
ARG VERSION=v0.0.0-dev COMMIT

FROM source AS build
RUN --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH make build COMMANDS=./cmd/vsphere-cloud-controller-manager \
    VERSION="$VERSION" COMMIT="$COMMIT"

# The target tool is the image of a shadow: docker build --target tool.
FROM source AS build-tool
RUN --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH make build COMMANDS=./cmd/vzones VERSION="$VERSION" COMMIT="$COMMIT"

FROM $BASE_IMAGE AS tool
COPY --from=build-tool /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build-tool /src/bin/vzones /bin/
USER 65532:65532
ENTRYPOINT ["/bin/vzones"]

FROM $BASE_IMAGE
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# Gardener's and OpenShift's manifests use this path for the vSphere CPI.
COPY --from=build /src/bin/vsphere-cloud-controller-manager /bin/
USER 65532:65532
ENTRYPOINT ["/bin/vsphere-cloud-controller-manager"]
