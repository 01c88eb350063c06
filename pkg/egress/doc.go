// Package egress says which addresses Dashpot dials for whoever writes a trigger.
//
// A trigger's author chooses where Dashpot connects to, and gets an answer by what the
// decision says. So what only Dashpot's pod can reach is denied: its own loopback, and the
// link-local addresses where clouds hand out credentials.
//
// The rules are pure. A dialer asks them about the very address that is connected to, after
// the name was looked up: what DNS answers to another look-up does not matter, nor who has
// named the address: the trigger, a redirect, a sentinel or a node of a cluster.
package egress
