// Package demo runs Dashpot's main job in one process, in compressed time: the real
// scaler on the memory store, a built-in Redis as its queue, a made-up workload that
// eats the queue, and stand-ins for what KEDA and the HPA do with the answers. It is a
// picture, not a test: the real KEDA and the real HPA are in test/e2e.
package demo
