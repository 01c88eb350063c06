package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// write writes a program's images, one for each build under one index, as an OCI layout in
// dir, and returns the index's digest: what a registry shows, and what one pulls by.
func write(dir string, p program, base []file, builds []build) (v1.Hash, error) {
	below, err := layer(base)
	if err != nil {
		return v1.Hash{}, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range builds {
		img, err := image(p, below, b)
		if err != nil {
			return v1.Hash{}, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os, Architecture: b.arch}},
		})
	}
	labelled, ok := mutate.Annotations(index, labels(p, builds[0])).(v1.ImageIndex)
	if !ok {
		return v1.Hash{}, fmt.Errorf("an index with annotations is a %T", labelled)
	}
	if err := os.RemoveAll(dir); err != nil {
		return v1.Hash{}, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return v1.Hash{}, err
	}
	store, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := store.AppendIndex(labelled); err != nil {
		return v1.Hash{}, err
	}
	return labelled.Digest()
}

// image is a program's image for one platform: the base's layer and the program's.
func image(p program, below v1.Layer, b build) (v1.Image, error) {
	above, err := layer([]file{{name: p.name, mode: 0o755, content: b.binary}})
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: b.committed}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img,
		mutate.Addendum{Layer: below, History: v1.History{Created: created, CreatedBy: "authorities, users, licences"}},
		mutate.Addendum{Layer: above, History: v1.History{Created: created, CreatedBy: "go build ./cmd/" + p.name}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.os, b.arch, created
	config.Config = v1.Config{
		User: user + ":" + user, Entrypoint: []string{"/" + p.name}, WorkingDir: "/",
		Env: []string{"PATH=/"}, ExposedPorts: map[string]struct{}{}, Labels: labels(p, b),
	}
	for _, port := range p.ports {
		config.Config.ExposedPorts[port] = struct{}{}
	}
	return mutate.ConfigFile(img, config)
}

// labels are the annotations that OCI has names for.
func labels(p program, b build) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":       "dashpot " + p.name,
		prefix + "description": p.description,
		prefix + "version":     b.version,
		prefix + "revision":    b.revision,
		prefix + "source":      "https://github.com/dashpot-project/dashpot",
		prefix + "licenses":    "Apache-2.0",
	}
}

// layer is a compressed layer of files.
func layer(files []file) (v1.Layer, error) {
	data, err := archive(files)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}
