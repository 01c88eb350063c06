# The programs on a base of your choice, for whoever builds images of their own:
#
#	docker build --target scaler .
#	docker build --target adapter --platform linux/arm64 .
#
# The published images come from `make image` instead, with the same programs, to the byte
# with the same Go; docs/adr/0011 says why. The context is the whole checkout with .git, by which the go
# command stamps the version.
ARG BUILDER=docker.io/library/golang:1.26
ARG BASE=gcr.io/distroless/static-debian12:nonroot

FROM --platform=${BUILDPLATFORM} ${BUILDER} AS build
WORKDIR /src
COPY . .
ARG TARGETOS
ARG TARGETARCH
# The flags are those of tools/release/image.
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} GOFLAGS= \
    go build -trimpath -buildvcs=true "-ldflags=-s -w" -o /programs/ ./cmd/scaler ./cmd/adapter

FROM ${BASE} AS adapter
COPY LICENSE THIRD_PARTY_LICENSES.md /licenses/
COPY --from=build /programs/adapter /adapter
USER 65532:65532
EXPOSE 6443 8080
ENTRYPOINT ["/adapter"]

FROM ${BASE} AS scaler
COPY LICENSE THIRD_PARTY_LICENSES.md /licenses/
COPY --from=build /programs/scaler /scaler
USER 65532:65532
EXPOSE 8080 9090
ENTRYPOINT ["/scaler"]
