// Command licenses writes the licences of all that is linked into the programs of the images:
// a table of modules, and every text once.
//
//	cd tools/release && go run ./licenses
//
// A licence that it does not know is an error: somebody has to read it first.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

// fileName is the file's, in the root of the checkout.
const fileName = "THIRD_PARTY_LICENSES.md"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1) //nolint:gocritic // the context ends with this process
	}
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("licenses", flag.ContinueOnError)
	flags.SetOutput(stderr)
	source := flags.String("source", "../..", "the checkout")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := generate(ctx, *source)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(*source, fileName), []byte(text), 0o644) //nolint:gosec // part of the checkout, for everybody
}

// generate returns the file for a checkout.
func generate(ctx context.Context, source string) (string, error) {
	linked, err := linkedModules(ctx, source, "./cmd/scaler", "./cmd/adapter")
	if err != nil {
		return "", err
	}
	return page(linked)
}
