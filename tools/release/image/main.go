// Command image writes the container images of a checkout's programs, each an OCI image
// layout in a directory of its own:
//
//	cd tools/release && go run ./image -platforms linux/amd64,linux/arm64
//
// The same commit and the same version of Go give the same digest, on every machine: what
// goes into an image is compiled without paths and with the flags that stand here, laid out
// with the time 0, and comes from the checkout and from modules that go.sum names.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1) //nolint:gocritic // the context ends with this process
	}
}

// run writes the images, and a line on stdout for each: its directory, its version and the
// digest of its index.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.SetOutput(stderr)
	source := flags.String("source", "../..", "the checkout")
	out := flags.String("out", "", "write the layouts into this directory, over those that are there; default bin/image of the checkout")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64", "build for these, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := filepath.Abs(*source)
	if err != nil {
		return fmt.Errorf("find the checkout: %w", err)
	}
	if *out == "" {
		*out = filepath.Join(root, "bin", "image")
	}
	base, err := baseFiles(root)
	if err != nil {
		return err
	}
	for _, p := range programs() {
		builds, err := compileAll(ctx, root, p, strings.Split(*platforms, ","), stderr)
		if err != nil {
			return err
		}
		dir := filepath.Join(*out, p.name)
		digest, err := write(dir, p, base, builds)
		if err != nil {
			return fmt.Errorf("write the image of %s: %w", p.name, err)
		}
		fmt.Fprintln(stdout, dir, builds[0].version, digest)
	}
	return nil
}
