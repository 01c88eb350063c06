package main

import (
	"os"
	"testing"
)

// programVariable makes the program of this test binary, for a test that wants a process
// of its own.
const programVariable = "DASHPOT_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		os.Exit(program().Main())
	}
	os.Exit(m.Run())
}
