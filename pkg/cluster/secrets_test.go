package cluster

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const withSecret = `
triggers: [{type: redis, metadata: {address: "redis:6379"}, secretRef: {name: redis-auth}}]
`

var secretsResource = schema.GroupResource{Resource: "secrets"}

func secret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Data:       map[string][]byte{key: []byte(value)},
	}
}

// failSecrets has every GET of a Secret fail until the returned function is called.
func failSecrets(f fakes, err error) (mend func()) {
	failing := make(chan struct{})
	f.kube.PrependReactor("get", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) {
		return !isClosed(failing), nil, err
	})
	return func() { close(failing) }
}

func setSecret(t *testing.T, f fakes, s *corev1.Secret) {
	t.Helper()
	_, err := f.kube.CoreV1().Secrets("shop").Update(t.Context(), s, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = f.kube.CoreV1().Secrets("shop").Create(t.Context(), s, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// later lets time pass in the bubble.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func passwordOf(parser *parserFake) string {
	_, triggers := parser.given("jobs")
	return triggers[0]["password"]
}

func TestSecretIsPartOfTheTrigger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p, parser := policiesOf(t, aMetric(t, "jobs", withSecret), secret("redis-auth", "password", "hunter2"))
		first := get(t, p, "jobs")
		if got := passwordOf(parser); got != "hunter2" || first.Policy.Invalid != nil {
			t.Errorf("password %q, %v", got, first.Policy.Invalid)
		}
		later(10 * time.Minute)
		if m := get(t, p, "jobs"); m.Policy != first.Policy || m.Replaced != first.Replaced || isClosed(m.Replaced) || parser.calls != 1 {
			t.Errorf("nothing has changed, and the policy has: parsed %d times", parser.calls)
		}
		gets := 0
		for _, action := range f.kube.Actions() {
			if action.GetResource().Resource != "secrets" {
				continue
			}
			if action.GetVerb() != "get" || action.GetNamespace() != "shop" {
				t.Errorf("%s of secrets in %q", action.GetVerb(), action.GetNamespace())
			}
			gets++
		}
		if gets < 8 || gets > 13 {
			t.Errorf("the Secret was got %d times in 10 minutes, want about 10", gets)
		}

		setSecret(t, f, secret("redis-auth", "password", "another"))
		later(71 * time.Second)
		if m := get(t, p, "jobs"); passwordOf(parser) != "another" || m.Policy == first.Policy || !isClosed(first.Replaced) {
			t.Errorf("the password is %q a minute after it changed", passwordOf(parser))
		}
		setSecret(t, f, secret("redis-auth", "password", "a third"))
		changed := aMetric(t, "jobs", withSecret+"cooldownPeriod: 9\n")
		changed.SetGeneration(2)
		update(t, f, changed)
		if got := passwordOf(parser); got != "a third" {
			t.Errorf("the password is %q at once after the object changed", got)
		}
	})
}

// Each trigger has its own, and one that two share is got once.
func TestSeveralSecrets(t *testing.T) {
	spec := `
triggers:
- {type: redis, metadata: {address: "a:1"}, secretRef: {name: redis-auth}}
- {type: redis, metadata: {address: "b:1"}, secretRef: {name: redis-auth}}
- {type: redis, metadata: {address: "c:1"}, secretRef: {name: other}}
- {type: redis, metadata: {address: "d:1"}}
`
	synctest.Test(t, func(t *testing.T) {
		f, p, parser := policiesOf(t, aMetric(t, "jobs", spec), secret("redis-auth", "password", "one"), secret("other", "password", "two"))
		get(t, p, "jobs")
		_, triggers := parser.given("jobs")
		var passwords []string
		for _, trigger := range triggers {
			passwords = append(passwords, trigger["password"])
		}
		if got := strings.Join(passwords, ","); got != "one,one,two," {
			t.Errorf("passwords %s", got)
		}
		if n := len(f.kube.Actions()); n != 2 {
			t.Errorf("%d requests, want 2: %v", n, f.kube.Actions())
		}
	})
}

func TestSecretThatIsNotToBeHad(t *testing.T) {
	tests := []struct {
		name, secret string
		err          error
		want         string
	}{
		{"there is none", "redis-auth", apierrors.NewNotFound(secretsResource, "redis-auth"),
			"invalid policy: triggers[0].secretRef.name: there is no Secret shop/redis-auth"},
		{"not allowed", "redis-auth", apierrors.NewForbidden(secretsResource, "redis-auth", errors.New("no")),
			"invalid policy: triggers[0].secretRef.name: Secret shop/redis-auth may not be read: grant Dashpot's service account get on secrets in shop"},
		{"no name of a Secret", "../other/redis", nil, `invalid policy: triggers[0].secretRef.name: "../other/redis" is not the name of a Secret: `},
		{"an empty name", `""`, nil, `invalid policy: triggers[0].secretRef.name: "" is not the name of a Secret: `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := strings.Replace(withSecret, "name: redis-auth", "name: "+test.secret, 1)
			synctest.Test(t, func(t *testing.T) {
				f := newFakes(aMetric(t, "jobs", spec), aMetric(t, "other", plainMetric), secret("redis-auth", "password", "hunter2"))
				mend := func() {}
				if test.err != nil {
					mend = failSecrets(f, test.err)
				}
				p, _ := startPolicies(t, f, PoliciesOptions{})
				first := get(t, p, "jobs")
				if err := first.Policy.Invalid; !errors.Is(err, scaling.ErrBadPolicy) || !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("got  %v\nwant %s", err, test.want)
				}
				if m := get(t, p, "other"); m.Policy.Invalid != nil {
					t.Errorf("another metric: %v", m.Policy.Invalid)
				}
				mend()
				later(time.Minute)
				if m := get(t, p, "jobs"); (test.err != nil) != (m.Policy.Invalid == nil) || (test.err != nil) != isClosed(first.Replaced) {
					t.Errorf("a minute later: %v", m.Policy.Invalid)
				}
			})
		})
	}
}

// An empty Secret is no missing one.
func TestSecretWithoutEntries(t *testing.T) {
	empty := secret("redis-auth", "", "")
	empty.Data = nil
	synctest.Test(t, func(t *testing.T) {
		_, p, _ := policiesOf(t, aMetric(t, "jobs", withSecret), empty)
		if m := get(t, p, "jobs"); m.Policy.Invalid != nil {
			t.Errorf("got %v", m.Policy.Invalid)
		}
	})
}

// A Secret that is made just after the metric is found within a second.
func TestSecretThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p, _ := policiesOf(t, aMetric(t, "jobs", withSecret))
		if m := get(t, p, "jobs"); m.Policy.Invalid == nil {
			t.Fatal("valid without its Secret")
		}
		setSecret(t, f, secret("redis-auth", "password", "hunter2"))
		later(time.Second)
		if m := get(t, p, "jobs"); m.Policy.Invalid != nil {
			t.Errorf("a second later: %v", m.Policy.Invalid)
		}
	})
}

func TestSecretThatIsAway(t *testing.T) {
	away := apierrors.NewInternalError(errors.New("etcd is away"))
	synctest.Test(t, func(t *testing.T) { // from the start: nothing is known
		f := newFakes(aMetric(t, "jobs", withSecret), aMetric(t, "other", plainMetric), secret("redis-auth", "password", "hunter2"))
		mend := failSecrets(f, away)
		p, _ := startPolicies(t, f, PoliciesOptions{})
		started := time.Now()
		_, err := p.Metric(t.Context(), "shop", "jobs")
		wantUnobserved(t, err, "StabilizedMetric shop/jobs", "get Secret shop/redis-auth", "etcd is away")
		if took := time.Since(started); took != defaultPatience {
			t.Errorf("waited %s", took)
		}
		get(t, p, "other")
		mend()
		later(time.Minute)
		get(t, p, "jobs")
	})
	synctest.Test(t, func(t *testing.T) { // later: what was known stays
		f, p, parser := policiesOf(t, aMetric(t, "jobs", withSecret), secret("redis-auth", "password", "hunter2"))
		first := get(t, p, "jobs")
		mend := failSecrets(f, away)
		setSecret(t, f, secret("redis-auth", "password", "another"))
		later(10 * time.Minute)
		if m := get(t, p, "jobs"); m.Policy != first.Policy || m.Policy.Invalid != nil || isClosed(first.Replaced) {
			t.Errorf("ten minutes without the Secret: %v", m.Policy.Invalid)
		}
		changed := aMetric(t, "jobs", withSecret+"cooldownPeriod: 9\n")
		changed.SetGeneration(2)
		update(t, f, changed)
		if m := get(t, p, "jobs"); m.Generation != 2 || passwordOf(parser) != "hunter2" {
			t.Errorf("a change meanwhile: generation %d, password %q; want 2 with the entries of before", m.Generation, passwordOf(parser))
		}
		other := aMetric(t, "jobs", strings.Replace(withSecret, "redis-auth", "unseen", 1))
		other.SetGeneration(3)
		update(t, f, other)
		if m := get(t, p, "jobs"); m.Generation != 2 || m.Policy.Invalid != nil {
			t.Errorf("a change to a Secret that was never seen: generation %d, want the policy of 2", m.Generation)
		}
		setSecret(t, f, secret("unseen", "password", "seen"))
		mend()
		later(2 * time.Minute)
		if m := get(t, p, "jobs"); m.Generation != 3 || passwordOf(parser) != "seen" {
			t.Errorf("when it can be had: generation %d, password %q", m.Generation, passwordOf(parser))
		}
	})
	synctest.Test(t, func(t *testing.T) { // another object of the name has no policy yet
		f, p, _ := policiesOf(t, aMetric(t, "jobs", withSecret), secret("redis-auth", "password", "hunter2"))
		first := get(t, p, "jobs")
		failSecrets(f, away)
		anew := aMetric(t, "jobs", strings.Replace(withSecret, "redis-auth", "unseen", 1))
		anew.SetUID("another")
		update(t, f, anew)
		_, err := p.Metric(t.Context(), "shop", "jobs")
		wantUnobserved(t, err, "get Secret shop/unseen")
		if !isClosed(first.Replaced) || len(p.Metrics()) != 0 {
			t.Errorf("the policy of before is still followed: %v", p.Metrics())
		}
	})
}

// A Secret that is deleted is not one that is away.
func TestSecretThatIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p, _ := policiesOf(t, aMetric(t, "jobs", withSecret), secret("redis-auth", "password", "hunter2"))
		first := get(t, p, "jobs")
		if err := f.kube.CoreV1().Secrets("shop").Delete(t.Context(), "redis-auth", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		later(71 * time.Second)
		if m := get(t, p, "jobs"); m.Policy.Invalid == nil || !isClosed(first.Replaced) {
			t.Errorf("got %v", m.Policy.Invalid)
		}
		later(10 * time.Minute)
		if got := len(f.kube.Actions()); got > 35 {
			t.Errorf("%d requests in 10 minutes for a Secret that is not there", got)
		}
	})
}

// The problems of the object and of its Secrets are told together.
func TestProblemsWithSecrets(t *testing.T) {
	spec := `
triggers:
- {type: redis, metadata: {}, secretRef: {name: redis-auth}}
- {type: redis, metadata: {address: "b:1"}, secretRef: {name: missing}}
`
	synctest.Test(t, func(t *testing.T) {
		_, p, _ := policiesOf(t, aMetric(t, "jobs", spec), secret("redis-auth", "password", "hunter2"))
		const want = "invalid policy: triggers[1].secretRef.name: there is no Secret shop/missing; triggers[0].address: must be host:port"
		if got := get(t, p, "jobs").Policy.Invalid.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
