package cluster

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What informers keep are our structs, however large the objects are; and a second
// pass through the transform, which the client does, changes nothing.
func TestTransformStrips(t *testing.T) {
	three := int32(3)
	large := deployment(&three, 3)
	large.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	large.Annotations = map[string]string{"a": strings.Repeat("x", 1<<20)}
	large.Spec.Template.Spec.Containers = []corev1.Container{{Name: "worker"}}
	objects := []runtime.Object{
		object(t, "ScaledObject", plainSpec), object(t, "ScaledJob", "{}"), large, kedaHPA(t, hpaSpec(""), "{}"),
	}
	synctest.Test(t, func(t *testing.T) {
		_, o := inCluster(t, objects...)
		deployments := o.workloads[schema.GroupKind{Group: "apps", Kind: "Deployment"}]
		for _, w := range []*watch{o.scaledObjects, o.scaledJobs, o.hpas, deployments} {
			for _, kept := range w.informer.GetStore().List() {
				switch kept := kept.(type) {
				case *scaledObject, *scaledJob, *hpa:
				case *workload:
					if len(kept.Annotations)+len(kept.ManagedFields) != 0 {
						t.Errorf("kept metadata: %+v", kept.ObjectMeta)
					}
				default:
					t.Errorf("of a %s, %T is kept", w.kind, kept)
				}
			}
			if n := len(w.informer.GetStore().List()); n != 1 {
				t.Errorf("%d %ss are kept, want 1", n, w.kind)
			}
		}
	})
	convert := converter(newDeployment)
	if once := convert(large); convert(once) != once {
		t.Error("a second pass changes what is converted")
	}
}
