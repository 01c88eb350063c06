package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is who the programs run as: the nonroot of distroless images, and of the chart's
// podSecurityContext.
const user = "65532"

// file is one of an image's, or with a closing / one of its directories. All are root's, and
// nobody else may write them.
type file struct {
	name    string // from the image's root
	mode    int64
	content []byte
}

// baseFiles are what both images begin with: authorities, who there is, the licences, and
// nothing that runs. Time zones are in the programs.
func baseFiles(root string) ([]file, error) {
	files := []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:" + user + ":\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:" + user + ":" + user + ":nonroot:/:/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: authorities()},
		{name: "licenses/", mode: 0o755},
	}
	for _, name := range []string{"LICENSE", "THIRD_PARTY_LICENSES.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, fmt.Errorf("read a licence: %w", err)
		}
		files = append(files, file{name: path.Join("licenses", name), mode: 0o644, content: text})
	}
	return files, nil
}

// authorities are Mozilla's, by the module that Go itself falls back on, so that go.sum says
// which. One that Mozilla trusts for certificates of before a certain day only is left out: a
// PEM file cannot say so. Who still has such a certificate mounts its authority.
func authorities() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return text.Bytes()
}

// archive is a layer of files as a tar file, with the time 0.
func archive(files []file) ([]byte, error) {
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)),
			ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
		}
		if f.content == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}
