// main.go - the peers' loads on go-workflows with its SQLite backend.
//
// Used as load.go says. A step is an activity whose result of BYTES characters is stored before the
// workflow goes on. The worker is tuned: it polls every millisecond (200 by default), caches every
// run and knows that it is the only one.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
)

func steps(ctx workflow.Context, count int) (int, error) {
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

func main() {
	drive(func() func(name string, runs, count int) {
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
		return func(name string, runs, count int) {
			instances := make([]*workflow.Instance, 0, runs)
			for i := 0; i < runs; i++ {
				instance, err := c.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{
					InstanceID: fmt.Sprintf("%s-%d", name, i),
				}, steps, count)
				must(err)
				instances = append(instances, instance)
			}
			for _, instance := range instances {
				_, err := client.GetWorkflowResult[int](ctx, c, instance, 10*time.Minute)
				must(err)
			}
		}
	})
}
