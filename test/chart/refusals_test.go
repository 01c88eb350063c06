package chart

import (
	"os"
	"strings"
	"testing"
)

// TestLint: the chart is one that Helm finds nothing wrong with.
func TestLint(t *testing.T) {
	for _, set := range sets() {
		if out, err := newHelm(t, os.DevNull).run("lint", "--strict", chartDir, "--values="+setPath(set)); err != nil {
			t.Errorf("%s: %v\n%s", set, err, out)
		}
	}
}

// TestSchemaRefuses: a value that makes no sense is an error that names it.
func TestSchemaRefuses(t *testing.T) {
	for _, test := range []struct{ set, want string }{
		{"scaler.replicas=2", "additional properties 'replicas' not allowed"}, // replicaCount
		{"scalar.enabled=true", "additional properties 'scalar' not allowed"},
		{"adapter.apiService.takeover=true", "additional properties 'takeover' not allowed"}, // takeOver
		{"adapter.enabled=yes", "/adapter/enabled"},
		{"scaler.replicaCount=-1", "/scaler/replicaCount"},
		{"scaler.maxStreams=0", "/scaler/maxStreams"},
		{"adapter.maxPolicies=0", "/adapter/maxPolicies"},
		{"scaler.image.pullPolicy=Sometimes", "/scaler/image/pullPolicy"},
		{"scaler.podDisruptionBudget.maxUnavailable=0", "/scaler/podDisruptionBudget/maxUnavailable"},
		{"logLevel=loud", "/logLevel"},
		{"logFormat=xml", "/logFormat"},
		{"tlsMinVersion=1.1", "/tlsMinVersion"},
		{"redis.url=redis:6379", "/redis/url"},
		{"redis.url=http://redis", "/redis/url"},
		{"redis.url=redis://:secret@redis:6379", "/redis/url"}, // it would stand in the Deployment
		{"redis.url=redis-sentinel://s:26379/0?master=m&sentinel_password=secret", "/redis/url"},
		{"redis.trial.storage=plenty", "/redis/trial/storage"},
		{"adapter.apiGroup=metrics", "/adapter/apiGroup"},
		{"adapter.delegates[0].name=keda", "missing property 'url'"},
		{"adapter.delegates[0].url=https://keda", "missing property 'name'"},
		{"adapter.delegates[0].name=keda,adapter.delegates[0].url=http://keda", "/adapter/delegates/0/url"},
		{"adapter.delegates[0].name=keda,adapter.delegates[0].url=https://keda,adapter.delegates[0].matches=x", "'matches' not allowed"},
		{"adapter.delegates[0].name=keda,adapter.delegates[0].url=https://keda,adapter.delegates[0].ca=file", "/adapter/delegates/0/ca"},
		{"certificates.caBundle=file", "/certificates/caBundle"},
		{"certificates.certManager.duration=long", "/certificates/certManager/duration"},
		{"rbac.secretNamespaces={UPPER}", "/rbac/secretNamespaces/0"},
		{"networkPolicy.kedaNamespace=", "/networkPolicy/kedaNamespace"},
		{"prometheus.serviceMonitor.interval=often", "/prometheus/serviceMonitor/interval"},
	} {
		refuses(t, "redis.existingSecret=r,"+test.set, test.want)
	}
}

// TestChecks: values that do not go together are an error that says what to do.
func TestChecks(t *testing.T) {
	for _, test := range []struct{ set, want string }{
		{"logLevel=info", "scaler.replicaCount is 2 and there is no Redis, in which they would share their records"},
		{"scaler.replicaCount=1,adapter.enabled=true", "adapter.replicaCount is 2 and there is no Redis"},
		{"redis.url=redis://r,redis.trial.enabled=true", "redis.url and redis.trial.enabled are set: leave one"},
		{"redis.url=redis://r,redis.existingSecret=r", "redis.url and redis.existingSecret are set: leave one"},
		{"scaler.enabled=false", "nothing is enabled: set scaler.enabled or adapter.enabled to true"},
		{"redis.url=redis://r,adapter.enabled=true,certificates.existingSecret=s", "certificates.caBundle is empty"},
		{"redis.url=redis://r,adapter.enabled=true,certificates.existingSecret=s,certificates.certManager.enabled=true", "both set: leave one"},
		{"redis.url=redis://r,adapter.enabled=true,certificates.caBundle=-----BEGIN CERTIFICATE-----", "certificates.caBundle is set without certificates.existingSecret"},
		{"redis.url=redis://r,adapter.enabled=true", "there is no cluster to ask who has APIService v1beta1.external.metrics.k8s.io"},
		{"redis.url=redis://r,scaler.serviceAccount.create=false", "name one that exists in scaler.serviceAccount.name"},
		{delegate("insecureSkipVerify=true", "tokenFile=/t", "caFile=/ca"), "scaler.delegates: keda has insecureSkipVerify and an authority"},
		{delegate("insecureSkipVerify=true", "tokenFile=/t", "ca=-----BEGIN CERTIFICATE-----"), "scaler.delegates: keda has insecureSkipVerify and an authority"},
		{delegate("insecureSkipVerify=true"), "the ServiceAccount's token would go to whoever answers"},
		{delegate("certFile=/c"), "scaler.delegates: keda has one of certFile and keyFile"},
		{delegate("keyFile=/k"), "scaler.delegates: keda has one of certFile and keyFile"},
		{delegate() + ",scaler.delegates[1].name=keda,scaler.delegates[1].url=https://other", "scaler.delegates: keda is there twice"},
		{"redis.url=redis://r,scaler.podLabels.app\\.kubernetes\\.io/name=x", "scaler.podLabels has app.kubernetes.io/name, which is the chart's own"},
		{"redis.url=redis://r,additionalLabels.app\\.kubernetes\\.io/component=x", "additionalLabels has app.kubernetes.io/component, which is the chart's own"},
		{"redis.url=redis://r,additionalLabels.helm\\.sh/chart=x", "additionalLabels has helm.sh/chart, which is the chart's own"},
		{"redis.url=redis://r,additionalLabels.team=a,scaler.podLabels.team=b", "scaler.podLabels and additionalLabels both have team"},
		{"redis.url=redis://r,httpTLS=true", "httpTLS is set without scaler.tls.existingSecret"},
		{"redis.url=redis://r,httpTLS=true,scaler.tls.existingSecret=s,prometheus.serviceMonitor.enabled=true", "prometheus.serviceMonitor.tlsConfig is empty"},
		{"redis.url=redis://r,networkPolicy.enabled=true,prometheus.serviceMonitor.enabled=true", "networkPolicy.httpFrom is empty"},
	} {
		refuses(t, test.set, test.want)
	}
}

// delegate are values with one for the scaler, which has some keys more.
func delegate(keys ...string) string {
	set := "redis.url=redis://r,scaler.delegates[0].name=keda,scaler.delegates[0].url=https://keda"
	for _, key := range keys {
		set += ",scaler.delegates[0]." + key
	}
	return set
}

// refuses wants that an installation with some values fails with a text.
func refuses(t *testing.T, set, want string) {
	t.Helper()
	_, err := render(t, "--set="+set)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v; want one with %q", set, err, want)
	}
}

// TestAccepts: what the checks and the schema must let pass.
func TestAccepts(t *testing.T) {
	for _, set := range []string{
		"scaler.replicaCount=1",
		"scaler.replicaCount=1,adapter.enabled=true,adapter.replicaCount=1,adapter.apiService.takeOver=true",
		"redis.url=rediss-sentinel://s1:26379\\,s2:26379/0?master=m",
		"redis.url=redis-cluster://r:6379",
		"redis.url=redis://r,adapter.enabled=true,adapter.apiService.create=false,certificates.existingSecret=s",
		"redis.url=redis://r,scaler.podDisruptionBudget.maxUnavailable=25%",
		"redis.url=redis://r,global.anything=true", // Helm's own, of a chart above
		delegate("insecureSkipVerify=true", "tokenFile=/t"),
		delegate("certFile=/c", "keyFile=/k"),
		"redis.url=redis://r,scaler.enabled=false,adapter.enabled=true,adapter.apiService.takeOver=true,httpTLS=true", // it has a certificate anyway
		"redis.url=redis://r,scaler.podLabels.team=a,adapter.podLabels.team=b",
	} {
		if _, err := render(t, "--set="+set); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// TestNoUserIsForced: OpenShift gives every namespace users of its own, and refuses a pod that
// asks for another.
func TestNoUserIsForced(t *testing.T) {
	r, err := render(t, "--set=redis.url=redis://r,podSecurityContext.runAsUser=null,podSecurityContext.runAsGroup=null")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.Manifest, "runAsUser") || strings.Contains(r.Manifest, "runAsGroup") || !strings.Contains(r.Manifest, "runAsNonRoot: true") {
		t.Errorf("a user is asked for, or root is not refused:\n%s", r.Manifest)
	}
}

// TestNoAPIServiceWithoutTheAdapter: the scaler alone must not touch what HPAs ask.
func TestNoAPIServiceWithoutTheAdapter(t *testing.T) {
	for set, want := range map[string]bool{
		"redis.url=redis://r": false,
		"redis.url=redis://r,adapter.apiService.takeOver=true":                                                           false,
		"redis.url=redis://r,adapter.enabled=true,adapter.apiService.create=false":                                       false,
		"redis.url=redis://r,adapter.enabled=true,adapter.apiService.takeOver=true":                                      true,
		"redis.url=redis://r,adapter.enabled=true,adapter.apiService.takeOver=true,adapter.apiGroup=external.example.io": true,
	} {
		r, err := render(t, "--set="+set)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(r.Manifest, "kind: APIService"); got != want {
			t.Errorf("%s: APIService %t; want %t", set, got, want)
		}
	}
}
