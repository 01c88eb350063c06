package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// tick is the unit of processor time in /proc, USER_HZ, which is 100 on every
// architecture that Go runs on.
const tick = 10 * time.Millisecond

// cpuOf is the processor time that a process has used, its threads included.
func cpuOf(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return parseStat(string(data))
}

// parseStat reads the processor time from a /proc/PID/stat. The program's name, in
// parentheses, may hold anything; utime and stime are the 12th and 13th field after it.
func parseStat(text string) (time.Duration, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("stat %q has no 15 fields", text)
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("stat %q: %w", text, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// mebibytes is a size of memory.
type mebibytes float64

func (m mebibytes) String() string { return fmt.Sprintf("%.0f MiB", float64(m)) }

// memoryOf is the resident memory of a process: VmRSS for that of now, VmHWM for the most
// that it ever was.
func memoryOf(pid int, name string) (mebibytes, error) {
	text := field(fmt.Sprintf("/proc/%d/status", pid), name)
	kib, err := strconv.Atoi(strings.TrimSuffix(text, " kB"))
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %s is %q", pid, name, text)
	}
	return mebibytes(kib) / 1024, nil
}

// calls are how often Redis has run each command, by its name, those inside scripts
// included.
type calls map[string]int64

// callsOf asks a server for its counts.
func callsOf(ctx context.Context, client *redis.Client) (calls, error) {
	text, err := client.Info(ctx, "commandstats").Result()
	if err != nil {
		return nil, fmt.Errorf("count the commands of Redis: %w", err)
	}
	return parseCalls(text), nil
}

// parseCalls reads lines such as cmdstat_evalsha:calls=3,usec=95,….
func parseCalls(text string) calls {
	counted := calls{}
	for line := range strings.Lines(text) {
		name, values, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(values, ",")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			counted[name] = n
		}
	}
	return counted
}

// since is how often each command has been run after an earlier count.
func (c calls) since(before calls) calls {
	more := calls{}
	for name, n := range c {
		more[name] = n - before[name]
	}
	return more
}

// sent is how many commands of Dashpot came over the wire: all of them are scripts, and
// what a script calls is counted beside it.
func (c calls) sent() int64 { return c["evalsha"] + c["eval"] }

// Of the three scripts only that which loads a record calls TIME, and only that which reads
// a list calls TYPE. The others swap.

func (c calls) loads() int64 { return c["time"] }
func (c calls) reads() int64 { return c["type"] }
func (c calls) swaps() int64 { return c.sent() - c.loads() - c.reads() }

// processID is that of a Redis server on this machine.
func processID(ctx context.Context, client *redis.Client) (int, error) {
	text, err := client.Info(ctx, "server").Result()
	if err != nil {
		return 0, fmt.Errorf("ask Redis for its process: %w", err)
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "process_id:"); ok {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("redis does not tell its process in %q", text)
}
