// main.go - the peers' loads on DBOS for Go with a SQLite file.
//
// Usage: dbosgo RUNS STEPS BYTES seq|par   (PEER_DIR: a fresh directory). Prints "STEPS SECONDS" of
// the second of two rounds. A step is a DBOS step whose result of BYTES characters is recorded
// before the workflow goes on; the package chooses synchronous=NORMAL, so the last ones may be lost
// with the power.
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

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

var (
	payload  string
	parallel bool
)

func echo(_ context.Context) (string, error) {
	return payload, nil
}

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

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "dbosgo:", err)
		os.Exit(1)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	must(err)
	return n
}

func round(ctx dbos.Context, runs, count int) float64 {
	begin := time.Now()
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
	return time.Since(begin).Seconds()
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: dbosgo RUNS STEPS BYTES seq|par")
		os.Exit(2)
	}
	runs, count, size := number(os.Args[1]), number(os.Args[2]), number(os.Args[3])
	payload = strings.Repeat("x", size)
	parallel = os.Args[4] == "par"
	ctx, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName:     "peers",
		DatabaseURL: "sqlite:" + filepath.Join(os.Getenv("PEER_DIR"), "dbos.sqlite"),
		Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	must(err)
	dbos.RegisterWorkflow(ctx, steps)
	must(dbos.Launch(ctx))
	round(ctx, runs, count)
	fmt.Printf("%d %.6f\n", runs*count, round(ctx, runs, count))
	os.Exit(0)
}
