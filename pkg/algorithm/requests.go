package algorithm

import "fmt"

// request is what a pod requests of a resource. A container that is named counts alone,
// 200m of a pod of 200m and 300m; else requests at pod level count for the whole pod;
// else it is the sum over the containers, 500m. A request that is not there is an
// error, not 0: a utilization would be too high by what is missing.
//
// Source: replica_calculator.go, calculateRequests.
func request(pod *Pod, container, resource string) (Milli, error) {
	switch {
	case container != "":
		return containerRequest(pod, container, resource)
	case pod.Requests != nil:
		if of, ok := pod.Requests[resource]; ok {
			return of, nil
		}
		return 0, fmt.Errorf("pod %q sets requests at pod level, but none for %s: add it there", pod.Name, resource)
	}
	var sum Milli
	for i := range pod.Containers {
		of, err := pod.Containers[i].request(pod, resource)
		if err != nil {
			return 0, err
		}
		sum += of
	}
	return sum, nil
}

func containerRequest(pod *Pod, name, resource string) (Milli, error) {
	for i := range pod.Containers {
		if c := &pod.Containers[i]; c.Name == name {
			return c.request(pod, resource)
		}
	}
	return 0, fmt.Errorf("pod %q has no container %q: name one that every pod of the scale target has", pod.Name, name)
}

func (c *Container) request(pod *Pod, resource string) (Milli, error) {
	of, ok := c.Requests[resource]
	if !ok {
		return 0, fmt.Errorf("container %q of pod %q has no request for %s: set one, or use an averageValue target", c.Name, pod.Name, resource)
	}
	return of, nil
}
