// Package scaling turns a policy, what is remembered and what is observed into a
// decision.
//
// Step is the pure middle: the same arguments give the same decision and the same
// next record. Evaluator is the shell around it: it loads the record, reads the
// triggers when their readings are too old, steps, and swaps the record in. What
// it needs from outside it declares here: Source reads numbers, Store keeps
// records and owns the clock, Observer sees the cluster.
package scaling
