package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
)

// secretTimeout ends one attempt to get a Secret.
const secretTimeout = 5 * time.Second

// secrets are those that one object names.
type secrets struct {
	// entries are their contents, by name.
	entries map[string]map[string][]byte
	// missing says of a name why there is nothing to be had by it, for as long as
	// nobody mends it.
	missing map[string]string
	// failed are attempts that may succeed another time. Where there are entries all
	// the same, they are those of the last time.
	failed error
}

// complete reports whether of every Secret it is known what is in it, or that it is not
// to be had.
func (s secrets) complete(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return s.entries[name] == nil && s.missing[name] == ""
	})
}

// getSecrets gets Secrets of one namespace, each by its name: to list them would need the
// permission to read all. last are the entries of the last time.
func getSecrets(ctx context.Context, client kubernetes.Interface, namespace string, names []string, last map[string]map[string][]byte) secrets {
	found := secrets{entries: map[string]map[string][]byte{}, missing: map[string]string{}}
	for _, name := range names {
		entries, err := getSecret(ctx, client, namespace, name)
		switch {
		case err == nil:
			found.entries[name] = entries
		case errors.As(err, new(missingSecretError)):
			found.missing[name] = err.Error()
		default:
			found.failed = errors.Join(found.failed, fmt.Errorf("get Secret %s/%s: %w", namespace, name, err))
			if known := last[name]; known != nil {
				found.entries[name] = known
			}
		}
	}
	return found
}

// missingSecretError says why a Secret is not to be had until somebody mends it.
type missingSecretError string

func (e missingSecretError) Error() string { return string(e) }

// getSecret gets the entries of one Secret; they are not nil.
func getSecret(ctx context.Context, client kubernetes.Interface, namespace, name string) (map[string][]byte, error) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return nil, missingSecretError(fmt.Sprintf("%q is not the name of a Secret: %s", name, strings.Join(problems, ", ")))
	}
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	secret, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, missingSecretError(fmt.Sprintf("there is no Secret %s/%s", namespace, name))
	case apierrors.IsForbidden(err):
		return nil, missingSecretError(fmt.Sprintf("Secret %s/%s may not be read: grant Dashpot's service account get on secrets in %s", namespace, name, namespace))
	case err != nil:
		return nil, err
	case secret.Data == nil:
		return map[string][]byte{}, nil
	}
	return secret.Data, nil
}
