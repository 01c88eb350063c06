package algorithm

import "testing"

// requesting is one container, app, with a request.
func requesting(resource string, request Milli) []Container {
	return []Container{{Name: "app", Requests: map[string]Milli{resource: request}}}
}

func TestRequest(t *testing.T) {
	cpu := func(request Milli) map[string]Milli { return map[string]Milli{CPU: request} }
	sidecar := Container{Name: "proxy", Requests: cpu(300)}
	bare := Container{Name: "bare"}
	app := Container{Name: "app", Requests: cpu(200)}

	for _, tt := range []struct {
		name      string
		pod       Pod
		container string
		want      Milli
		says      string // an error, if not empty
	}{
		{name: "one container", pod: Pod{Containers: []Container{app}}, want: 200},
		{name: "with a sidecar", pod: Pod{Containers: []Container{app, sidecar}}, want: 500},
		{name: "no container", want: 0},
		{name: "a request of 0 is a request", pod: Pod{Containers: []Container{{Name: "app", Requests: cpu(0)}, sidecar}}, want: 300},
		{name: "one lacks it", pod: Pod{Containers: []Container{app, bare}},
			says: `container "bare" of pod "web-1" has no request for cpu: set one, or use an averageValue target`},
		{name: "it has another", pod: Pod{Containers: []Container{{Name: "app", Requests: map[string]Milli{"memory": 1}}}},
			says: `container "app" of pod "web-1" has no request for cpu: set one, or use an averageValue target`},

		{name: "the named alone", pod: Pod{Containers: []Container{app, sidecar}}, container: "app", want: 200},
		{name: "the named sidecar", pod: Pod{Containers: []Container{app, sidecar}}, container: "proxy", want: 300},
		{name: "what others lack is no matter", pod: Pod{Containers: []Container{bare, app}}, container: "app", want: 200},
		{name: "the named lacks it", pod: Pod{Containers: []Container{app, bare}}, container: "bare",
			says: `container "bare" of pod "web-1" has no request for cpu: set one, or use an averageValue target`},
		{name: "not there", pod: Pod{Containers: []Container{app}}, container: "application",
			says: `pod "web-1" has no container "application": name one that every pod of the scale target has`},

		{name: "pod level", pod: Pod{Requests: cpu(900), Containers: []Container{app, bare}}, want: 900},
		{name: "pod level, named", pod: Pod{Requests: cpu(900), Containers: []Container{app, sidecar}}, container: "app", want: 200},
		{name: "pod level, of 0", pod: Pod{Requests: cpu(0), Containers: []Container{app}}, want: 0},
		{name: "pod level, named, lacks it", pod: Pod{Requests: cpu(900), Containers: []Container{bare}}, container: "bare",
			says: `container "bare" of pod "web-1" has no request for cpu: set one, or use an averageValue target`},
		{name: "pod level, of another resource", pod: Pod{Requests: map[string]Milli{"memory": 1}, Containers: []Container{app}},
			says: `pod "web-1" sets requests at pod level, but none for cpu: add it there`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.pod.Name = "web-1"
			got, err := request(&tt.pod, tt.container, CPU)
			if tt.says == "" && (err != nil || got != tt.want) {
				t.Errorf("got %d, %v; want %d", got, err, tt.want)
			}
			if tt.says != "" && (err == nil || err.Error() != tt.says) {
				t.Errorf("got %d, %v; want the error %q", got, err, tt.says)
			}
		})
	}
}
