// main.go - the peers' loads on DBOS for Go with a SQLite file.
//
// Used as load.go says. A step is a DBOS step whose result of BYTES characters is recorded before
// the workflow goes on; the package chooses synchronous=NORMAL, so the last ones may be lost with
// the power.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

func steps(ctx dbos.Context, count int) (int, error) {
	if parallel {
		outcomes := make([]<-chan dbos.StepOutcome[string], 0, count)
		for i := 0; i < count; i++ {
			outcome, err := dbos.Go(ctx, echo)
			if err != nil {
				return 0, err
			}
			outcomes = append(outcomes, outcome)
		}
		for _, outcome := range outcomes {
			<-outcome
		}
		return count, nil
	}
	for i := 0; i < count; i++ {
		if _, err := dbos.RunAsStep(ctx, echo); err != nil {
			return 0, err
		}
	}
	return count, nil
}

func main() {
	drive(func() func(name string, runs, count int) {
		ctx, err := dbos.NewContext(context.Background(), dbos.Config{
			AppName:     "peers",
			DatabaseURL: "sqlite:" + filepath.Join(os.Getenv("PEER_DIR"), "dbos.sqlite"),
			Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		must(err)
		dbos.RegisterWorkflow(ctx, steps)
		must(dbos.Launch(ctx))
		return func(_ string, runs, count int) {
			handles := make([]dbos.WorkflowHandle[int], 0, runs)
			for i := 0; i < runs; i++ {
				handle, err := dbos.RunWorkflow(ctx, steps, count)
				must(err)
				handles = append(handles, handle)
			}
			for _, handle := range handles {
				_, err := handle.GetResult()
				must(err)
			}
		}
	})
}
