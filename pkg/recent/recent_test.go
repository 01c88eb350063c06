package recent

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](time.Minute)
		has := func(key string, want bool) {
			t.Helper()
			if _, ok := m.Get(key); ok != want {
				t.Errorf("%s is there: %v", key, ok)
			}
		}
		m.Put("asked for", 1)
		m.Put("put again", 1)
		m.Put("left alone", 1)
		has("nothing", false)
		for minute := range 4 {
			time.Sleep(time.Minute)
			has("asked for", true)
			m.Put("put again", minute)
		}
		has("left alone", false)
		if value, _ := m.Get("put again"); value != 3 {
			t.Errorf("the value is %d, want that which was put last, 3", value)
		}
		if n := m.Len(); n != 4 {
			t.Errorf("%d entries, want two in two generations", n)
		}
		time.Sleep(time.Minute - 1) // as long as it is kept at least
		has("asked for", true)
		time.Sleep(2 * time.Minute) // and at most
		has("asked for", false)
		has("put again", false)
		if n := m.Len(); n != 0 {
			t.Errorf("%d entries after a silence, want none", n)
		}
	})
}
