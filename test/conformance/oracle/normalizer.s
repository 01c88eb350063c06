// A Go package may declare functions without a body, as normalizer.go does, only if it
// has an assembly file.
