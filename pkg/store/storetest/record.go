package storetest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// FullRecord returns a record in which every field, at every depth, is set and
// differs from all others. A field that is added to scaling.Record is in it from
// that day on, so a store that forgets the new field fails.
func FullRecord() scaling.Record {
	var record scaling.Record
	counter := 0
	fill(reflect.ValueOf(&record).Elem(), &counter)
	return record
}

func fill(v reflect.Value, counter *int) {
	*counter++
	if v.Type() == reflect.TypeFor[time.Time]() {
		// Nanoseconds and UTC: what a store has to bring back.
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 123456000+*counter, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), counter)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), counter)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*counter))
	case reflect.Uint64:
		v.SetUint(uint64(*counter))
	case reflect.Float64:
		v.SetFloat(float64(*counter) + 0.1)
	case reflect.String:
		v.SetString(fmt.Sprintf("tëxt \"%d\"\n\x00", *counter))
	default:
		panic(fmt.Sprintf("storetest: a record now holds a %s; teach fill about it", v.Type()))
	}
}
