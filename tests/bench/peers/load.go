// load.go - what the Go drivers share: the command line, two rounds, and the one line they print.
//
// It is copied beside each driver's main.go when that is built. Usage of a driver:
// DRIVER RUNS STEPS BYTES seq|par, with PEER_DIR a fresh directory; it prints "STEPS SECONDS" of the
// second of two rounds.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// What a step answers, and whether steps run at once.
var (
	payload  string
	parallel bool
)

func echo(_ context.Context) (string, error) {
	return payload, nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	must(err)
	return n
}

// drive starts the peer, plays the load twice and ends the process. round starts so many runs of so
// many steps, under a name of its own, and waits for all of them.
func drive(start func() (round func(name string, runs, steps int))) {
	if len(os.Args) != 5 {
		fmt.Fprintf(os.Stderr, "usage: %s RUNS STEPS BYTES seq|par\n", os.Args[0])
		os.Exit(2)
	}
	runs, steps := number(os.Args[1]), number(os.Args[2])
	payload = strings.Repeat("x", number(os.Args[3]))
	parallel = os.Args[4] == "par"
	round := start()
	round("warm", runs, steps)
	begin := time.Now()
	round("timed", runs, steps)
	fmt.Printf("%d %.6f\n", runs*steps, time.Since(begin).Seconds())
	os.Exit(0)
}
