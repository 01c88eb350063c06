package redisstore

import (
	"reflect"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/storetest"
)

// A record travels once to each process, and what was not sent again is what would have
// been sent.
func TestAKnownRecordIsNotSentAgain(t *testing.T) {
	url := redistest.Start(t).URL()
	writer, reader := open(t, url, patient), open(t, url, patient)
	sent := func(known scaling.Version) bool {
		t.Helper()
		reply, err := loadScript.run(t.Context(), writer.client, writer.redisKey(jobs), string(known))
		if err != nil {
			t.Fatal(err)
		}
		fields, ok := reply.([]any)
		if !ok || len(fields) != 3 {
			t.Fatalf("Redis answered %v", reply)
		}
		return fields[0] != nil
	}
	version := scaling.Version("")
	for i := range 3 {
		record := storetest.FullRecord()
		record.Served = int32(i)
		if swapped, err := writer.Swap(t.Context(), jobs, version, record, time.Hour); err != nil || !swapped {
			t.Fatal(swapped, err)
		}
		if version != "" && !sent(version) {
			t.Errorf("swap %d: the record is not sent to one who knows the version before", i)
		}
		for name, store := range map[string]*Store{"writer": writer, "reader": reader} {
			for range 2 { // what was decoded, then what was kept
				loaded := load(t, store)
				if !reflect.DeepEqual(loaded.Record, &record) {
					t.Errorf("swap %d, %s: loaded\n%+v\nwant\n%+v", i, name, loaded.Record, record)
				}
				version = loaded.Version
			}
			if kept, _ := store.decoded.Get(store.redisKey(jobs)); kept.version != version {
				t.Errorf("swap %d: the %s has kept version %q of %q", i, name, kept.version, version)
			}
		}
		if sent(version) {
			t.Errorf("swap %d: the record is sent again", i)
		}
	}
	// Refused swaps and lost keys leave no record behind that is served.
	if swapped, err := reader.Swap(t.Context(), jobs, "stale", scaling.Record{Served: 9}, time.Hour); err != nil || swapped {
		t.Fatal(swapped, err)
	}
	if got := load(t, reader).Record.Served; got != 2 {
		t.Errorf("%d is loaded after a refused swap, want 2", got)
	}
	if err := writer.client.Del(t.Context(), writer.redisKey(jobs)).Err(); err != nil {
		t.Fatal(err)
	}
	if loaded := load(t, reader); loaded.Record != nil || loaded.Version != "" {
		t.Errorf("loaded %+v of a key that is gone", loaded)
	}
}
