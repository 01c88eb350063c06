package prometest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// exposition is the target that the server scrapes: series in the text format.
type exposition struct {
	mu     sync.Mutex
	series map[string]float64
}

func (e *exposition) set(series string, value float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.series == nil {
		e.series = map[string]float64{}
	}
	e.series[series] = value
}

func (e *exposition) remove(series string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.series, series)
}

// ServeHTTP answers a scrape.
func (e *exposition) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, series := range slices.Sorted(maps.Keys(e.series)) {
		_, _ = fmt.Fprintf(w, "%s %s\n", series, strconv.FormatFloat(e.series[series], 'g', -1, 64))
	}
}
