package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

func TestOpenLoop(t *testing.T) {
	got, err := OpenLoop{}.Observe(t.Context(), worker, "jobs")
	want := scaling.Observation{OpenLoop: true, ToZero: true, Bounds: algorithm.Bounds{Min: 1, Max: 100}}
	if err != nil || !equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestInstanceID(t *testing.T) {
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "the-cluster"}}
	if id, err := newFakes(system).clients().InstanceID(t.Context()); id != "the-cluster" || err != nil {
		t.Errorf("got %q, %v", id, err)
	}
	if id, err := newFakes().clients().InstanceID(t.Context()); err == nil {
		t.Errorf("without the namespace: %q and no error", id)
	}
}

func TestConnect(t *testing.T) {
	if _, err := Connect(&rest.Config{Host: "https://127.0.0.1:1"}); err != nil {
		t.Errorf("a server that is away: %v", err)
	}
	if _, err := Connect(&rest.Config{Host: "::nonsense"}); err == nil {
		t.Error("nonsense for a host is no error")
	}
}
