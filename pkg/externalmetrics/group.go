package externalmetrics

import (
	"fmt"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/metrics/pkg/apis/external_metrics"
	"k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/apiserver/installer"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"
	storage "sigs.k8s.io/custom-metrics-apiserver/pkg/registry/external_metrics"
)

// DefaultGroup is the API group that every HPA controller asks today. A cluster has one
// server of it; another group makes room for several once controllers can be told which.
const DefaultGroup = external_metrics.GroupName

// group is an API group that serves the types of external.metrics.k8s.io. The library's
// own scheme knows no other group for them.
type group struct {
	version schema.GroupVersion
	scheme  *runtime.Scheme
	codecs  serializer.CodecFactory
}

// newGroup returns the group of a name, such as external.metrics.example.com.
func newGroup(name string) (group, error) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return group{}, fmt.Errorf("API group %q: %s", name, problems[0])
	}
	g := group{version: schema.GroupVersion{Group: name, Version: v1beta1.SchemeGroupVersion.Version}, scheme: runtime.NewScheme()}
	internal := schema.GroupVersion{Group: name, Version: runtime.APIVersionInternal}
	g.scheme.AddKnownTypes(internal, &external_metrics.ExternalMetricValue{}, &external_metrics.ExternalMetricValueList{})
	g.scheme.AddKnownTypes(g.version, &v1beta1.ExternalMetricValue{}, &v1beta1.ExternalMetricValueList{})
	metav1.AddToGroupVersion(g.scheme, g.version)
	// What is of no group, such as the Status that every error is, belongs to v1.
	core := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(g.scheme, core)
	g.scheme.AddUnversionedTypes(core, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	if err := v1beta1.RegisterConversions(g.scheme); err != nil {
		return group{}, fmt.Errorf("API group %q: %w", name, err)
	}
	if err := g.scheme.SetVersionPriority(g.version); err != nil {
		return group{}, fmt.Errorf("API group %q: %w", name, err)
	}
	g.codecs = serializer.NewCodecFactory(g.scheme)
	return g, nil
}

// install serves the group: its values under namespaces/NAMESPACE/METRIC, and itself in
// both forms of discovery. The aggregated form is a copy, which announce renews.
func (g group) install(server *genericserver.GenericAPIServer, values provider.ExternalMetricsProvider) error {
	info := genericserver.NewDefaultAPIGroupInfo(g.version.Group, g.scheme, metav1.ParameterCodec, g.codecs)
	resources := provider.NewExternalMetricResourceLister(values)
	api := &installer.MetricsAPIGroupVersion{
		DynamicStorage: storage.NewREST(values),
		APIGroupVersion: &endpoints.APIGroupVersion{
			Root: genericserver.APIGroupPrefix, GroupVersion: g.version, MetaGroupVersion: info.MetaGroupVersion,
			ParameterCodec: info.ParameterCodec, Serializer: info.NegotiatedSerializer,
			Creater:   g.scheme, //nolint:misspell // the library's word
			Convertor: g.scheme, UnsafeConvertor: runtime.UnsafeObjectConvertor(g.scheme),
			Typer: g.scheme, Namer: runtime.Namer(meta.NewAccessor()),
		},
		ResourceLister: resources,
		Handlers:       &installer.EMHandlers{},
	}
	container := server.Handler.GoRestfulContainer
	if err := api.InstallREST(container); err != nil {
		return fmt.Errorf("API group %q: %w", g.version.Group, err)
	}
	version := metav1.GroupVersionForDiscovery{GroupVersion: g.version.String(), Version: g.version.Version}
	about := metav1.APIGroup{Name: g.version.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
	server.DiscoveryGroupManager.AddGroup(about)
	container.Add(discovery.NewAPIGroupHandler(server.Serializer, about).WebService())

	return g.announce(server, values)
}

// announce puts what there is now into aggregated discovery.
func (g group) announce(server *genericserver.GenericAPIServer, values provider.ExternalMetricsProvider) error {
	resources := provider.NewExternalMetricResourceLister(values).ListAPIResources()
	listed, err := endpoints.ConvertGroupVersionIntoToDiscovery(resources)
	if err != nil {
		return fmt.Errorf("API group %q: %w", g.version.Group, err)
	}
	server.AggregatedDiscoveryGroupManager.AddGroupVersion(g.version.Group, apidiscovery.APIVersionDiscovery{
		Version: g.version.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent, Resources: listed,
	})
	return nil
}
