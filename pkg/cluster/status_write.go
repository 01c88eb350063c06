package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
)

// statusManager is the name under which the API server notes who wrote a status.
const statusManager = "dashpot-status"

// statusWriter writes pages to the API server.
//
// It sends a JSON patch: a test of the object's UID, and the whole status. That needs
// no version of the object, so an edit of its spec is never a conflict; it leaves
// nothing behind of the status before, which a merge patch does with every field that
// has become empty; and it does nothing to an object that is gone or another one by
// now, for a patch in this form creates nothing.
type statusWriter struct {
	resource dynamic.NamespaceableResourceInterface
}

// write writes a page if it still has to be. What it does not know of the object it
// reads first: how long conditions have had their status, and when the status was
// last written, was another replica's business until then.
func (w statusWriter) write(ctx context.Context, p *page, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	p.failure = nil
	if p.present == nil {
		if err := w.read(ctx, p, now); err != nil {
			p.touched = now
			return fmt.Errorf("read the status of %s/%s: %w", p.ref.Namespace, p.ref.Name, err)
		}
		if p.gone || p.pressure(now) < 1 {
			return nil
		}
	}
	p.touched = now
	next := stamped(p.wanted, *p.present, now)
	switch err := w.patch(ctx, p, next); {
	case apierrors.IsNotFound(err):
		p.gone = true
	case err != nil:
		p.present = nil // it may have been written all the same, or it is another object
		return fmt.Errorf("write the status of %s/%s: %w", p.ref.Namespace, p.ref.Name, err)
	default:
		p.present = &next
	}
	return nil
}

// read fills in what the object shows. A status that does not make sense is none.
func (w statusWriter) read(ctx context.Context, p *page, now time.Time) error {
	object, err := w.resource.Namespace(p.ref.Namespace).Get(ctx, p.ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && string(object.GetUID()) != p.uid {
		p.gone = true
		return nil
	}
	if err != nil {
		return err
	}
	present := presentStatus(object)
	p.present, p.touched = &present, time.Time{}
	if last := present.LastDecision; last != nil {
		p.touched = last.Time.Time
		if p.touched.After(now) { // by another clock
			p.touched = now
		}
	}
	return nil
}

func presentStatus(object *unstructured.Unstructured) v1alpha1.Status {
	var status v1alpha1.Status
	fields, _ := object.Object["status"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status); err != nil {
		return v1alpha1.Status{}
	}
	return status
}

func (w statusWriter) patch(ctx context.Context, p *page, status v1alpha1.Status) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	// To add a member that exists is to replace it.
	body, err := json.Marshal([]operation{{"test", "/metadata/uid", p.uid}, {"add", "/status", status}})
	if err != nil {
		return err
	}
	_, err = w.resource.Namespace(p.ref.Namespace).Patch(ctx, p.ref.Name, types.JSONPatchType, body,
		metav1.PatchOptions{FieldManager: statusManager}, "status")
	return err
}
