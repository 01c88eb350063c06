package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// podInWords is a pod as the algorithm sees it, on one line.
func podInWords(p algorithm.Pod) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", p.Name, p.Phase)
	if p.Deleting {
		b.WriteString(", deleting")
	}
	if p.HasStarted {
		fmt.Fprintf(&b, ", started %s", clock(p.Started))
	}
	if p.Ready != "" {
		fmt.Fprintf(&b, ", ready %s since %s", p.Ready, clock(p.ReadySince))
	}
	for _, c := range p.Containers {
		fmt.Fprintf(&b, " | %s%s", c.Name, requestsInWords(c.Requests))
	}
	if p.Requests != nil {
		fmt.Fprintf(&b, " | whole pod%s", requestsInWords(p.Requests))
	}
	return b.String()
}

func clock(at time.Duration) string { return time.Unix(0, int64(at)).UTC().Format("15:04:05") }

func requestsInWords(requests map[string]algorithm.Milli) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		fmt.Fprintf(&b, " %s %d", name, requests[name])
	}
	return b.String()
}

// Quantities are in thousandths: 1 CPU is 1000, 1Ki of memory 1024000.
func TestPods(t *testing.T) {
	tests := []struct{ name, manifest, want string }{
		{"running", `
			spec: {containers: [{name: app, resources: {requests: {cpu: 250m, memory: 1Ki, ephemeral-storage: 1Gi}}}]}
			status:
			  phase: Running
			  startTime: "2026-01-01T12:00:00Z"
			  conditions: [{type: Initialized, status: "True"}, {type: Ready, status: "True", lastTransitionTime: "2026-01-01T12:00:07Z"}]`,
			"pod Running, started 12:00:00, ready True since 12:00:07 | app cpu 250 memory 1024000"},
		{"not scheduled", `
			spec: {containers: [{name: app}]}
			status: {phase: Pending}`,
			"pod Pending | app"},
		{"never ready", `
			spec: {containers: [{name: app}]}
			status: {phase: Running, startTime: "2026-01-01T12:00:00Z", conditions: [{type: Ready, status: "False"}]}`,
			"pod Running, started 12:00:00, ready False since 00:00:00 | app"},
		{"node out of touch", `
			spec: {containers: [{name: app}]}
			status: {phase: Running, conditions: [{type: Ready, status: Unknown, lastTransitionTime: "2026-01-01T12:00:00Z"}]}`,
			"pod Running, ready Unknown since 12:00:00 | app"},
		{"being deleted", `
			metadata: {deletionTimestamp: "2026-01-01T12:00:00Z"}
			spec: {containers: [{name: app}]}
			status: {phase: Failed}`,
			"pod Failed, deleting | app"},
		{"a sidecar counts, an init container does not", `
			spec:
			  initContainers: [{name: proxy, restartPolicy: Always, resources: {requests: {cpu: 100m}}}, {name: migrate, resources: {requests: {cpu: 500m}}}]
			  containers: [{name: app, resources: {requests: {cpu: 300m}}}]
			status: {phase: Running}`,
			"pod Running | app cpu 300 | proxy cpu 100"},
		// 100m + 500m while migrate runs is more than 300m + 100m; memory is the pod's own.
		{"requests of the whole pod", `
			spec:
			  resources: {requests: {memory: 4Ki}}
			  overhead: {cpu: 10m}
			  initContainers: [{name: proxy, restartPolicy: Always, resources: {requests: {cpu: 100m}}}, {name: migrate, resources: {requests: {cpu: 500m}}}]
			  containers: [{name: app, resources: {requests: {cpu: 300m, memory: 1Ki}}}]
			status: {phase: Running}`,
			"pod Running | app cpu 300 memory 1024000 | proxy cpu 100 | whole pod cpu 610 memory 4096000"},
		{"a sidecar is part of the whole pod", `
			spec:
			  resources: {requests: {memory: 4Ki}}
			  initContainers: [{name: proxy, restartPolicy: Always, resources: {requests: {cpu: 100m}}}]
			  containers: [{name: app, resources: {requests: {cpu: 300m}}}]
			status: {phase: Running}`,
			"pod Running | app cpu 300 | proxy cpu 100 | whole pod cpu 400 memory 4096000"},
		{"requests of the whole pod, without one for memory", `
			spec:
			  resources: {requests: {cpu: "1"}}
			  containers: [{name: app, resources: {requests: {cpu: 300m}}}]
			status: {phase: Running}`,
			"pod Running | app cpu 300 | whole pod cpu 1000"},
		{"huge pages of the whole pod", `
			spec:
			  resources: {requests: {hugepages-2Mi: 4Mi}}
			  containers: [{name: app, resources: {requests: {cpu: 300m}}}]
			status: {phase: Running}`,
			"pod Running | app cpu 300 | whole pod cpu 300"},
		{"limits of the whole pod are no requests", `
			spec:
			  resources: {limits: {cpu: "1"}}
			  containers: [{name: app, resources: {requests: {cpu: 300m}}}]
			status: {phase: Running}`,
			"pod Running | app cpu 300"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parse[corev1.Pod](t, strings.ReplaceAll(tt.manifest, "\n\t\t\t", "\n"))
			p.Name = "pod"
			if got := podInWords(newPod(p).seen); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A pod counts if all of its containers have a value, a container if it has one itself.
func TestReadings(t *testing.T) {
	const pods = `
- metadata: {name: whole}
  timestamp: "2026-01-01T12:00:00Z"
  window: 15s
  containers: [{name: app, usage: {cpu: 123456789n, memory: 1Ki}}, {name: proxy, usage: {cpu: 10m, memory: 2Ki}}]
- metadata: {name: half}
  timestamp: "2026-01-01T12:00:05Z"
  window: 30s
  containers: [{name: app, usage: {cpu: 50m}}, {name: proxy, usage: {memory: 1Ki}}]
- metadata: {name: empty}
`
	tests := []struct{ resource, container, want string }{
		{"cpu", "", "whole 134 at 12:00:00 over 15s"},
		{"cpu", "app", "half 50 at 12:00:05 over 30s, whole 124 at 12:00:00 over 15s"},
		{"memory", "", "whole 3072000 at 12:00:00 over 15s"},
		{"memory", "proxy", "half 1024000 at 12:00:05 over 30s, whole 2048000 at 12:00:00 over 15s"},
		{"memory", "db", ""},
	}
	for _, tt := range tests {
		reading := readingOf(algorithm.Metric{Resource: tt.resource, Container: tt.container}, *parse[[]metricsv1beta1.PodMetrics](t, pods))
		var words []string
		for _, name := range slices.Sorted(maps.Keys(reading.Pods)) {
			r := reading.Pods[name]
			words = append(words, fmt.Sprintf("%s %d at %s over %s", name, r.Value, clock(r.At), r.Window))
		}
		if got := strings.Join(words, ", "); got != tt.want || reading.Err != nil {
			t.Errorf("%s of %q: got %s, want %s", tt.resource, tt.container, got, tt.want)
		}
	}
}
