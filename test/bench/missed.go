package main

// Why a goal is missed, and what would reach it: for the page, which shows it only while
// that is so. The shares are of the scaler's CPU, from profiles (-profiles).
const (
	missedInMemory = "An answer is twice the CPU of an empty handler, yet the decision is only 7 % of it. gRPC gives every call a new goroutine of 2 to 8 KiB, and an answer needs a stack of 14: `Evaluate` passes decisions (688 bytes), results (960) and the state of a step (1888) by value. Growing stacks are 23 % of the process's CPU: 8 % in `growStack`, which saves two steps, and the rest on the way there, a part of which the empty handler has too. The request's metadata takes 10 % to decode, as in the baseline, the deadline and its timer 3 %, finding the policy of the metadata 3 %. " +
		"First to try: one evaluation on the heap, behind a pointer, in place of values on the stack; it would have to reach every caller of `Evaluate`. Goroutines that stay (a pool for unary calls alone, since push streams would keep the workers of `grpc.NumStreamWorkers`) would save the same."
	missedInRedis = "Beside a GET a load is a script, which Redis runs in twice the CPU of a GET (45 and 24 µs); the breaker, the deadline and the counting around it take 10 % of the scaler's CPU beside the 30 % of go-redis, which the baseline has too; and stacks grow as they do with records in memory (8 %). " +
		"First to try: a load by HGETALL and TIME in one pipeline instead of a script; then the deadline of the store as that of the connection instead of a context with a timer for each command."
	missedTenThousand = "Most of the CPU per call is gRPC, go-redis and Redis, as the baseline shows. Each decision costs a load, and every other one a read and a swap. " +
		"First to try: what getmetrics-redis names; then reading the records of calls that arrive together in one pipeline, which saves Redis and go-redis most of a system call for each."
	missedIdleStreams = "The reads go out in pipelines of 500; what is not go-redis is above all the heap of times, 12 % in `Watcher.tend`. First to try: a ring of the 20 slots of an interval instead of a heap, for streams that are read at every turn of it."
	missedPoke        = "The median is some milliseconds: a poke waits for the machine, not for Dashpot. What lies between it and the answer is one read, one load and one swap, each a round trip to Redis."
	missedPush        = "The wait for the next read is at most the interval; what is over it is the read, a load, a swap, and waiting for the machine."
	missedAdapter     = "The API server's library takes most of a request, and KEDA's adapter pays for it too: TLS (11 % to write, 6 % to read), authorization (7 %, two thirds of it to encode the question that its cache is asked by), authentication (6 %), the encoding of the list (8 %), and stacks that grow (7 %). A floor stands beside it in `test/native/throughput`: the same library over a provider that decides nothing. " +
		"First to try: a cache of permissions whose key need not be encoded, and a list that is written without the library's generic encoder."
)
