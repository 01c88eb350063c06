package main

// Why a goal is missed, and what would reach it: for the page, which shows it only while
// that is so. The shares are of the scaler's CPU, from profiles (-profiles).
const (
	missedInMemory = "An answer takes 55 µs of CPU and an empty handler's 35. What is ours is 22 % of the process: the evaluation 10 %, the deadline and its timer 5 %, finding the policy of the metadata 4 %, counting 2 %; and a part of the 9 % that the collector takes. Both decode the request's metadata (11 %) and grow the goroutine's stack on the way to the handler (15 %). " +
		"First to try: goroutines that stay, for unary calls alone: push streams would keep the workers of `grpc.NumStreamWorkers` for ever."
	missedInRedis = "Beside a GET a load is a script, which takes Redis twice as long (13 and 7 µs of its CPU a call). In the scaler go-redis takes 22 % as it does in the baseline, the breaker and the deadline around it 6 %, and the rest is what getmetrics-memory names. " +
		"First to try: the deadline of the store as that of the connection, in place of a context with a timer for each command; and one HGET with a TIME in one transaction in place of a script, which would have to reach one node of a Cluster."
	missedTenThousand = "Callers, scaler and Redis share the cores, and calls that wait for one are the p99, and a part of the memory is the stacks of those that wait. What is alive on the heap is 3.4 KiB for each policy. " +
		"First to try: a machine whose cores are not shared with the caller; then what getmetrics-redis names, and reading the records of calls that arrive together in one pipeline."
	missedIdleStreams = "The reads go out in pipelines of 500; what is not go-redis is above all the heap of times, 12 % in `Watcher.tend`. First to try: a ring of the 20 slots of an interval instead of a heap, for streams that are read at every turn of it."
	missedPoke        = "The median is some milliseconds: a poke waits for the machine, not for Dashpot. What lies between it and the answer is one read, one load and one swap, each a round trip to Redis."
	missedPush        = "The wait for the next read is at most the interval; what is over it is the read, a load, a swap, and waiting for the machine."
	missedAdapter     = "The API server's library takes most of a request, and KEDA's adapter pays for it too: TLS (11 % to write, 6 % to read), authorization (7 %, two thirds of it to encode the question that its cache is asked by), authentication (6 %), the encoding of the list (8 %), and stacks that grow (7 %). A floor stands beside it in `test/native/throughput`: the same library over a provider that decides nothing. " +
		"First to try: a cache of permissions whose key need not be encoded, and a list that is written without the library's generic encoder."
)
