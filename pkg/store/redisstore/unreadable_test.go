package redisstore

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// Bytes that nobody can read are no record, however often they are loaded: knowing their
// version is not having read them.
func TestTheUnreadableIsNoRecordTheSecondTime(t *testing.T) {
	server := miniredis.RunT(t)
	store := open(t, "redis://"+server.Addr(), patient)
	server.HSet(store.redisKey(jobs), "record", "garbage", "version", "v")
	for i := range 3 {
		if loaded := load(t, store); loaded.Record != nil || loaded.Version != "v" {
			t.Errorf("load %d: %+v, version %q; want no record, and its version", i+1, loaded.Record, loaded.Version)
		}
	}
}
