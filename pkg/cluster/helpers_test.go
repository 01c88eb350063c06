package cluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
)

var (
	scaledObjectsGVR = schema.GroupVersionResource{Group: kedaGroup, Version: kedaVersion, Resource: "scaledobjects"}
	scaledJobsGVR    = schema.GroupVersionResource{Group: kedaGroup, Version: kedaVersion, Resource: "scaledjobs"}
	metricsGVR       = v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)
)

// fakes are the fake API servers behind the clients.
type fakes struct {
	kube *kubefake.Clientset
	keda *dynamicfake.FakeDynamicClient
}

func newFakes(objects ...runtime.Object) fakes {
	kinds := map[schema.GroupVersionResource]string{scaledObjectsGVR: "ScaledObjectList", scaledJobsGVR: "ScaledJobList", metricsGVR: "StabilizedMetricList"}
	var core, custom []runtime.Object
	for _, o := range objects {
		if _, ok := o.(*unstructured.Unstructured); ok {
			custom = append(custom, o)
		} else {
			core = append(core, o)
		}
	}
	return fakes{
		kube: kubefake.NewClientset(core...),
		keda: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, custom...),
	}
}

func (f fakes) clients() Clients { return Clients{Kubernetes: f.kube, Dynamic: f.keda} }

// parse reads YAML as the client does what the API server sends: quantities come
// in their canonical form.
func parse[T any](tb testing.TB, text string) *T {
	tb.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		tb.Fatalf("manifest: %v\n%s", err, text)
	}
	return object
}

// object makes a KEDA object called worker in the namespace shop.
func object(tb testing.TB, kind, spec string) *unstructured.Unstructured {
	tb.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(kedaGroup + "/" + kedaVersion)
	u.SetKind(kind)
	u.SetNamespace("shop")
	u.SetName("worker")
	u.SetUID("uid-of-worker")
	u.Object["spec"] = *parse[map[string]any](tb, spec)
	// As the client decodes it: whole numbers are int64.
	data, err := u.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	if err := u.UnmarshalJSON(data); err != nil {
		tb.Fatal(err)
	}
	return u
}

func deployment(spec *int32, status int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "worker"},
		Spec:       appsv1.DeploymentSpec{Replicas: spec},
		Status:     appsv1.DeploymentStatus{Replicas: status},
	}
}

// kedaHPA is the HPA that KEDA writes for worker.
func kedaHPA(tb testing.TB, spec, status string) *autoscalingv2.HorizontalPodAutoscaler {
	tb.Helper()
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "keda-hpa-worker"}}
	h.Spec = *parse[autoscalingv2.HorizontalPodAutoscalerSpec](tb, spec)
	h.Status = *parse[autoscalingv2.HorizontalPodAutoscalerStatus](tb, status)
	return h
}

const plainSpec = `
scaleTargetRef: {name: worker}
triggers: [{type: external-push, metadata: {scalerAddress: "dashpot:9090"}}]
`
