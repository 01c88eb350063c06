package scaling

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

func busyRecord() Record {
	h := algorithm.History{}
	for i := range 20 {
		h = h.Add(time.Duration(i)*5*time.Second, int32(40-i))
	}
	return Record{
		Time: epoch, Clock: 100 * time.Second, Seeded: true, ReadAt: 95 * time.Second, GoodAt: 95 * time.Second,
		Readings:    []Reading{{Query: "redis list jobs at redis:6379/0", Value: 105, At: 95 * time.Second, Known: true}},
		Recommended: 21, History: h, Events: []algorithm.Event{{At: 90 * time.Second, Change: -1}},
		LastActive: 95 * time.Second, EverActive: true, Active: true, Served: 40, Replicas: 40, EvaluatedAt: 95 * time.Second,
	}
}

func TestRecordSurvivesAStore(t *testing.T) {
	for name, r := range map[string]Record{"empty": {}, "busy": busyRecord()} {
		data, err := MarshalRecord(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := UnmarshalRecord(data)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestUnreadableRecords(t *testing.T) {
	for _, c := range []struct {
		data  string
		newer bool
	}{
		{`{"v":2,"clock":1}`, true},
		{`{"v":2,"clock":"1s"}`, true},
		{`{"clock":"1s","v":2}`, true},
		{`{"v":1,"clock":"1s"}`, false},
		{`{"v":"x"}`, false},
		{`rubbish`, false},
		{``, false},
	} {
		_, err := UnmarshalRecord([]byte(c.data))
		if err == nil || errors.Is(err, ErrNewerRecord) != c.newer {
			t.Errorf("%s: got %v, want an error, newer: %v", c.data, err, c.newer)
		}
	}
}

func FuzzUnmarshalRecord(f *testing.F) {
	data, err := MarshalRecord(busyRecord())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := UnmarshalRecord(data)
		if err != nil {
			return
		}
		again, err := MarshalRecord(r)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if back, err := UnmarshalRecord(again); err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%s became %s: %v", data, again, err)
		}
	})
}

// Union must not depend on who is asked first, nor on being asked twice, and no window
// and no cooldown may end earlier by it.
func TestUnion(t *testing.T) {
	mine, theirs := busyRecord(), busyRecord()
	theirs.Clock += 7 * time.Second // another clock, the same moment
	theirs.History = algorithm.History{}.Add(102*time.Second, 50)
	theirs.Events = nil
	theirs.ReadAt -= 10 * time.Second
	theirs.LastActive, theirs.Active = 10*time.Second, false

	u := theirs.Union(mine)
	if u.LastActive != mine.LastActive+7*time.Second || !u.Active {
		t.Errorf("activity: %v %v, want the later one on the clock of the union", u.LastActive, u.Active)
	}
	if len(u.Events) != 1 || u.Events[0].At != 97*time.Second {
		t.Errorf("events: %v, want the one that only one of them had", u.Events)
	}
	if got := u.History.Highs[0]; got.Replicas != 50 || got.At != 102*time.Second {
		t.Errorf("highest: %v, want 50 at 102s, which outdoes all earlier", got)
	}
	if len(u.Readings) != 1 || u.ReadAt != 102*time.Second || u.Readings[0].At != 102*time.Second {
		t.Errorf("readings: %v at %v, want mine, which are later", u.Readings, u.ReadAt)
	}
	if again := u.Union(mine); !reflect.DeepEqual(again, u) {
		t.Errorf("a second union changed it:\n%+v\n%+v", u, again)
	}
}

func TestWhyIsOneLine(t *testing.T) {
	d := Decision{Err: errors.Join(errors.New("a"), errors.New("b"))}
	if why := d.Why(); strings.Contains(why, "\n") || !strings.Contains(why, "a; b") {
		t.Errorf("got %q", why)
	}
}

func BenchmarkUnmarshalRecord(b *testing.B) {
	data, err := MarshalRecord(busyRecord())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := UnmarshalRecord(data); err != nil {
			b.Fatal(err)
		}
	}
}
