// Command scaler is Dashpot's external scaler for KEDA.
package main

import (
	"os"

	"github.com/dashpot-project/dashpot/internal/process"
)

func main() { os.Exit(program().Main()) }

func program() process.Program[options] {
	return process.Program[options]{Name: "scaler", Parse: parse, Run: run}
}
