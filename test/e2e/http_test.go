//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

func get(ctx context.Context, url string) (string, error) { return call(ctx, http.MethodGet, url) }

func post(ctx context.Context, url string) (string, error) { return call(ctx, http.MethodPost, url) }

func call(ctx context.Context, method, url string) (string, error) {
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s", response.Status)
	}
	return string(body), err
}
