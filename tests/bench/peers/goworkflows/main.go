// main.go - the peers' loads on go-workflows with its SQLite backend.
//
// Usage: goworkflows RUNS STEPS BYTES seq|par   (PEER_DIR: a fresh directory). Prints
// "STEPS SECONDS" of the second of two rounds. A step is an activity whose result of BYTES
// characters is stored before the workflow goes on. The worker is tuned: it polls every millisecond
// (200 by default), caches every run and knows that it is the only one.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
)

var payload string

func echo(_ context.Context) (string, error) {
	return payload, nil
}

func steps(ctx workflow.Context, count int, parallel bool) (int, error) {
	if parallel {
		futures := make([]workflow.Future[string], 0, count)
		for i := 0; i < count; i++ {
			futures = append(futures,
				workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, echo))
		}
		for _, future := range futures {
			if _, err := future.Get(ctx); err != nil {
				return 0, err
			}
		}
		return count, nil
	}
	for i := 0; i < count; i++ {
		future := workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, echo)
		if _, err := future.Get(ctx); err != nil {
			return 0, err
		}
	}
	return count, nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "goworkflows:", err)
		os.Exit(1)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	must(err)
	return n
}

func round(ctx context.Context, c *client.Client, name string, runs, count int,
	parallel bool) float64 {
	begin := time.Now()
	instances := make([]*workflow.Instance, 0, runs)
	for i := 0; i < runs; i++ {
		instance, err := c.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{
			InstanceID: fmt.Sprintf("%s-%d", name, i),
		}, steps, count, parallel)
		must(err)
		instances = append(instances, instance)
	}
	for _, instance := range instances {
		_, err := client.GetWorkflowResult[int](ctx, c, instance, 10*time.Minute)
		must(err)
	}
	return time.Since(begin).Seconds()
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: goworkflows RUNS STEPS BYTES seq|par")
		os.Exit(2)
	}
	runs, count, size := number(os.Args[1]), number(os.Args[2]), number(os.Args[3])
	payload = strings.Repeat("x", size)
	ctx := context.Background()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	b := sqlite.NewSqliteBackend(filepath.Join(os.Getenv("PEER_DIR"), "goworkflows.sqlite"),
		sqlite.WithBackendOptions(backend.WithLogger(quiet)))
	options := worker.DefaultOptions
	options.WorkflowPollingInterval = time.Millisecond
	options.ActivityPollingInterval = time.Millisecond
	options.WorkflowExecutorCacheSize = 1024
	options.SingleWorkerMode = true
	w := worker.New(b, &options)
	must(w.RegisterWorkflow(steps))
	must(w.RegisterActivity(echo))
	must(w.Start(ctx))
	c := client.New(b)
	parallel := os.Args[4] == "par"
	round(ctx, c, "warm", runs, count, parallel)
	fmt.Printf("%d %.6f\n", runs*count, round(ctx, c, "timed", runs, count, parallel))
	os.Exit(0)
}
