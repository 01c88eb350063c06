package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// native plays the HPA of a workload that is scaled without KEDA. The real controller,
// which runs in the cells' cluster too, finds no server of external metrics and holds.
type native struct {
	*book

	http  *http.Client
	url   string
	write func(ctx context.Context, replicas int32)
}

// newHTTPClient returns a client with the administrator's certificate.
func newHTTPClient(config *rest.Config) (*http.Client, error) {
	config = rest.CopyConfig(config)
	config.ServerName, config.Timeout = cluster.AdapterServerName, askLimit
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // no proxy
	return rest.HTTPClientFor(config)
}

// run syncs until the context ends.
func (n *native) run(ctx context.Context) { every(ctx, syncPeriod/2, n.sync) }

// sync is the HPA's, with minReplicas 0. It holds at an error.
func (n *native) sync(ctx context.Context) {
	asked := n.now()
	count, err := n.ask(ctx)
	n.note(client, asked, err, func(a *answer) {
		a.counts, a.count, a.tells, a.active = true, count, true, count > 0
	})
	if err != nil {
		return
	}
	if wanted := min(count, maxReplicas); wanted != n.replicas.at(n.now()) {
		n.write(ctx, wanted)
	}
}

func (n *native) ask(ctx context.Context) (int32, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url, http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := n.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	var list struct {
		Message string `json:"message"`
		Items   []struct {
			Value resource.Quantity `json:"value"`
		} `json:"items"`
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return 0, err
	}
	if len(list.Items) != 1 {
		return 0, fmt.Errorf("%s: %s", response.Status, list.Message)
	}
	return int32((list.Items[0].Value.MilliValue() + 999) / 1000), nil
}
