package oracle

import (
	"context"
	"fmt"
	"reflect"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// SyncPeriod is --horizontal-pod-autoscaler-sync-period: a reconcile comes so long after
// the one before, unless a change of the spec brings one earlier.
const SyncPeriod = 15 * time.Second

// selector is what the pods of the scale target are labelled with.
var selector = map[string]string{"app": hpaName}

// rival is an HPA of another scale target, whose selector matches the same pods.
const rival = "rival"

// Controller is Kubernetes' HorizontalController as a process with its clock, one HPA and
// one scale target. It is used inside one synctest bubble, in which the process runs as
// it does in a cluster: with its queue, its worker and its timers.
type Controller struct {
	config  algorithm.Controller
	style   Style
	metrics *Metrics
	api     *api
	epoch   time.Time

	// stop ends the process and waits for its end; nil while there is none.
	stop func()
	// tick is when the process reconciles next by itself.
	tick time.Duration
	spec algorithm.Spec
	pods []algorithm.Pod
}

// Done is what a reconcile did.
type Done struct {
	// Replicas is spec.replicas of the scale afterwards, Rescaled whether it was written.
	Replicas int32
	Rescaled bool
	// Conditions are those that the reconcile left, or would have left if its status had
	// been accepted.
	Conditions algorithm.Conditions
}

// NewController is for a bubble whose clock starts now, at time 0 of the inputs. The
// process starts with the first reconcile. The gate HPAScaleToZero is the process's own:
// whoever calls sets it as config has it.
func NewController(config algorithm.Controller, style Style) *Controller {
	epoch := time.Now()
	return &Controller{config: config, style: style, epoch: epoch, metrics: NewMetrics(epoch), api: newAPI()}
}

// LoseStatus makes the API server refuse the status of reconciles, or accept it again.
func (c *Controller) LoseStatus(lose bool) { c.api.refuseStatus = lose }

// Restart ends the process. The next reconcile is the first of a new one, which knows
// what the API server knows.
func (c *Controller) Restart() { c.Stop() }

// Stop ends the process. Without it the bubble never ends.
func (c *Controller) Stop() {
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
}

// Reconcile lets the world be as in says, waits until in.Workload.Now and returns what
// the controller did then. A changed spec is edited at that very moment, which makes the
// controller reconcile at once; without a change the moment is to be a SyncPeriod after
// the last one that was due. It is an error if the controller reconciled at any other
// moment or more than once.
//
// Pods and what the spec points to are not to be written to afterwards.
func (c *Controller) Reconcile(in algorithm.Input) (Done, error) {
	c.api.reconciles, c.api.written, c.api.status = nil, false, nil
	if err := c.arrange(in); err != nil {
		return Done{}, err
	}
	c.api.arranged.Add(1)
	time.Sleep(in.Workload.Now - time.Since(c.epoch))
	started := c.stop == nil
	if err := c.edit(in.Spec); err != nil {
		return Done{}, err
	}
	if started {
		c.start()
		c.tick = in.Workload.Now
	}
	synctest.Wait()
	if c.tick == in.Workload.Now {
		c.tick += SyncPeriod
	}
	if n := len(c.api.reconciles); n != 1 || c.api.reconciles[0].Sub(c.epoch) != in.Workload.Now {
		return Done{}, fmt.Errorf("the controller reconciled %d times until %v: %v", n, in.Workload.Now, c.api.reconciles)
	}
	return c.done(), nil
}

// arrange sets everything but the spec before the clock moves, so that a reconcile that
// is due at the very moment finds it.
func (c *Controller) arrange(in algorithm.Input) error {
	c.api.noScale, c.api.refuseScale = in.NoScale, in.Refused
	c.api.scales[hpaName] = scaleOf(hpaName, in.Workload.Scale)
	c.api.scales[hpaName].Status.Selector = c.selectorText(in.Selector)
	for i, m := range in.Spec.Metrics {
		c.metrics.Set(m, MetricName(i), in.Readings[i])
	}
	if err := c.arrangePods(in.Workload.Pods); err != nil {
		return err
	}
	return c.arrangeRival(in.Selector == algorithm.AmbiguousSelector)
}

func (c *Controller) arrangePods(pods []algorithm.Pod) error {
	if len(pods) == len(c.pods) && (len(pods) == 0 || &pods[0] == &c.pods[0]) {
		return nil // the very same slice
	}
	c.pods = pods
	objects := make([]any, len(pods))
	for i, p := range pods {
		pod := Pod(p, c.epoch)
		pod.Namespace, pod.Labels = hpaNamespace, selector
		objects[i] = pod
	}
	return c.api.pods.Replace(objects, "")
}

func (c *Controller) arrangeRival(wanted bool) error {
	switch exists := c.api.hpa(rival) != nil; {
	case !wanted && exists:
		return c.api.remove(rival)
	case wanted && !exists:
		spec := algorithm.Spec{
			Bounds:  algorithm.Bounds{Min: 1, Max: 1},
			Metrics: []algorithm.Metric{{Source: algorithm.ExternalSource, Target: algorithm.Target{AverageValue: 1000}}},
		}
		hpa, err := HPA(spec, c.config, c.style)
		if err != nil {
			return err
		}
		hpa.Name, hpa.UID, hpa.Spec.ScaleTargetRef.Name = rival, rival, rival
		c.api.scales[rival] = scaleOf(rival, algorithm.Scale{Spec: 1, Status: 1})
		c.api.scales[rival].Status.Selector = c.selectorText("")
		if err := c.api.put(hpa); err != nil {
			return err
		}
		synctest.Wait() // until the controller knows its selector
	}
	return nil
}

// edit writes the spec if it changed, as a user does: with the next generation.
func (c *Controller) edit(spec algorithm.Spec) error {
	old := c.api.hpa(hpaName)
	if old != nil && reflect.DeepEqual(spec, c.spec) {
		return nil
	}
	hpa, err := HPA(spec, c.config, c.style)
	if err != nil {
		return err
	}
	if old != nil {
		hpa.Generation, hpa.Status = old.Generation+1, old.Status
	}
	c.spec = spec
	return c.api.put(hpa)
}

// start runs a new process. It hears of the rival first: the controller notices that two
// selectors match the same pods once it has seen both.
func (c *Controller) start() {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	controller := podautoscaler.NewHorizontalController(
		ctx,
		eventClient{ended: ctx.Done()},
		scaleClient{api: c.api},
		hpaClient{api: c.api},
		deployments{},
		c.metrics,
		hpaInformer{api: c.api},
		podInformer{api: c.api},
		SyncPeriod,
		c.config.DownscaleStabilization,
		c.config.Tolerance,
		c.config.Warmup.CPUInitialization,
		c.config.Warmup.InitialReadiness,
	)
	for _, hpa := range []string{rival, hpaName} {
		if object := c.api.hpa(hpa); object != nil {
			c.api.handler.OnAdd(object, true)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		controller.Run(ctx, 1)
	}()
	c.stop = func() {
		cancel()
		<-ended
		c.api.handler = nil
	}
}

func (c *Controller) done() Done {
	status := c.api.status
	if status == nil {
		status = &c.api.hpa(hpaName).Status
	}
	return Done{c.api.scales[hpaName].Spec.Replicas, c.api.written, conditions(status.Conditions)}
}

func conditions(list []autoscalingv2.HorizontalPodAutoscalerCondition) algorithm.Conditions {
	var out algorithm.Conditions
	for _, condition := range list {
		got := algorithm.Condition{Status: algorithm.Status(condition.Status), Reason: algorithm.Reason(condition.Reason)}
		switch condition.Type {
		case autoscalingv2.AbleToScale:
			out.AbleToScale = got
		case autoscalingv2.ScalingActive:
			out.ScalingActive = got
		case autoscalingv2.ScalingLimited:
			out.ScalingLimited = got
		case autoscalingv2.ScaledToZero:
			out.ScaledToZero = got
		}
	}
	return out
}

func scaleOf(name string, s algorithm.Scale) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: hpaNamespace, Name: name},
		Spec:       autoscalingv1.ScaleSpec{Replicas: s.Spec},
		Status:     autoscalingv1.ScaleStatus{Replicas: s.Status},
	}
}

// selectorText is the selector of a scale. Upstream calls two kinds invalid: one that does
// not parse and an empty one.
func (c *Controller) selectorText(reason algorithm.Reason) string {
	switch {
	case reason != algorithm.InvalidSelector:
		return "app=" + hpaName
	case c.style == Sparse:
		return ""
	}
	return "app in (" + hpaName
}
