// Command adapter is Dashpot's server of external metrics for native
// HorizontalPodAutoscalers.
package main

import (
	"os"

	"github.com/dashpot-project/dashpot/internal/process"
)

func main() { os.Exit(program().Main()) }

func program() process.Program[options] {
	return process.Program[options]{Name: "adapter", Parse: parse, Run: run}
}
