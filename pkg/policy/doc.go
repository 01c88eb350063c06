// Package policy makes a scaling.Policy of a trigger's metadata.
//
// Every key is described once, as a metadata.Key: Keys are Dashpot's own, a trigger
// type brings its own through the Sources interface. Parsing obeys the same keys
// that documentation is made of.
package policy
