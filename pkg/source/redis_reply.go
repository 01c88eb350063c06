package source

import "strings"

// replies are the kinds of errors that Redis has, each the first word of a reply, with what
// helps whoever sees it.
var replies = map[string]string{
	"ASK":         "the key moves to another node of a cluster",
	"BUSY":        "the server runs somebody's script",
	"CLUSTERDOWN": "the cluster has slots that no node serves",
	"CROSSSLOT":   "",
	"DENIED":      "the server is in protected mode: it wants a password, or callers of its own host",
	"ERR":         "",
	"LOADING":     "the server still reads its data from the disk",
	"MASTERDOWN":  "the replica has lost its primary",
	"MISCONF":     "the server cannot write to its disk",
	"MOVED":       "the key is on another node of a cluster, which needs a type redis-cluster",
	"NOAUTH":      "the server wants a password",
	"NOGROUP":     "there is no such consumer group",
	"NOPERM":      "the ACL must allow EVAL, EVALSHA, TYPE and the commands that read the number, for this key",
	"NOREPLICAS":  "",
	"NOSCRIPT":    "",
	"OOM":         "the server is out of memory",
	"READONLY":    "the server is a replica",
	"TRYAGAIN":    "the cluster moves the key",
	"WRONGPASS":   "the user name or the password is wrong",
	"WRONGTYPE":   "this type of trigger reads others",
}

// replyWords are what Redis says behind the kind that tells one cause from another.
var replyWords = []string{
	"DB index is out of range", "max number of clients reached", "cluster support disabled", "unknown command",
	"without any password configured", "no password is set", "invalid password",
	"No such master with that name",
	"key is a string", "key is a list", "key is a set", "key is a zset", "key is a hash", "key is a stream",
}

// replied is an error that a server has replied with, in words of ours: what is at the
// address need not be Redis, and may repeat what it was sent.
func replied(said string) string {
	kind, _, _ := strings.Cut(said, " ")
	hint, known := replies[kind]
	if !known {
		return "the server replies with an error that is none of Redis'"
	}
	words := strings.Join(append([]string{kind}, among(replyWords, said)...), " ")
	if hint != "" {
		words += ": " + hint
	}
	return words
}
