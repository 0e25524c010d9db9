/*
 * simulate.c - the command `simulate` (sim.h): seeds, generations, verdicts.
 *
 * Usage: simulate [--seed N] [--seeds N] [--jobs N] [--trace] [--plant NAME | --plants]
 *   --seed N      the first seed (1)        --seeds N   so many, one after the other (1)
 *   --jobs N      processes at once (the machine's processors, at most 8)
 *   --trace       print a hash of all that happened for each seed: the same everywhere
 *   --plant NAME  with that bug planted: it must be found
 *   --plants      all plants, each until a seed finds it
 * Owns: the processes of a seed, their directory in memory, the choice of what fails, the report.
 * Status: 0 when every seed held (or every plant was found), 1 otherwise, 2 for a wrong call.
 * Tests: tests/sim/run-sim.sh
 */
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "tests/sim/sim.h"

#define GENERATIONS 7 /* the last one is left in peace */
#define LIFE_MS 60000 /* real time; a generation takes milliseconds */
#define PLANT_SEEDS 200
#define PURGE_OPERATIONS 60
#define JOBS_MAX 8

const struct plant sim_plants[] = {
    {"lying-disk", INV_ACKNOWLEDGED, .seed = 1, .disk = FAULT_PLANT_UNSYNCED},
    {"changed-history", INV_UNCHANGED, .seed = 1,
     .sql = "DROP TRIGGER event_batch_frozen; UPDATE event_batch SET events = "
            "replace(events, '\"sim\"', '\"mis\"')"},
    {"effect-twice", INV_ONCE, .seed = 1,
     .sql = "INSERT INTO effect SELECT step FROM effect LIMIT 1"},
    {"forgotten-claim", INV_ONCE, .seed = 31,
     .sql = "UPDATE activity SET state = 1, epoch = NULL, started_ns = NULL WHERE state = 2"},
    {"lost-timer", INV_DERIVED, .seed = 2, .sql = "DELETE FROM timer"},
    {"lost-activity", INV_DERIVED, .seed = 1, .sql = "DELETE FROM activity"},
    {"ghost-attempt", INV_ALIVE, .seed = 2, .in_life = true,
     .sql = "UPDATE activity SET state = 2, next_attempt_ns = NULL, epoch = (SELECT epoch FROM "
            "engine) WHERE state <> 2"},
    {"dead-attempt", INV_ALIVE, .seed = 1, .in_life = true,
     .sql = "UPDATE activity SET epoch = epoch - 1 WHERE state = 2"},
    {"leaked-slot", INV_SLOTS, .seed = 1, .is_ours = true},
    {"orphan-blob", INV_ORPHANS, .seed = 1,
     .sql =
         "INSERT INTO blob (digest, size, codec, bytes) VALUES (printf('%064d', 7), 1, 0, x'00')"},
    {"lost-events", INV_CHAIN, .seed = 2,
     .sql = "DROP TRIGGER event_batch_kept; DELETE FROM event_batch WHERE id = (SELECT max(b.id) "
            "FROM event_batch AS b JOIN execution AS e ON e.id = b.execution WHERE e.status = 1)"},
    {"early-timers", INV_TIMERS, .seed = 16, .sql = "UPDATE timer SET due_ns = due_ns - 900000000"},
    {"late-timers", INV_TIMERS, .seed = 2,
     .sql = "UPDATE timer SET due_ns = due_ns + 7200000000000"},
    {"kept-file", INV_SIZE, .seed = 1, .is_ours = true},
    {"left-over-mark", INV_IDEMPOTENT, .seed = 2, .at_end = true,
     .sql = "INSERT OR IGNORE INTO task (execution, kind, created_ns) SELECT id, 5, 0 FROM "
            "execution LIMIT 1"},
    {"no-version", INV_NEWER, .seed = 2, .is_ours = true},
    {"other-result", INV_OUTCOME, .seed = 3, .is_ours = true},
    {"forgotten-signal", INV_STUCK, .seed = 2, .is_ours = true},
    {0}};

/* What the processes of a seed share, beside the board. */
struct page {
    struct board board;
    struct fault_counts counts;
    _Atomic uint64_t histories;
};

struct seed {
    struct plan plan;
    const struct plant *plant;
    char *dir;
    struct page *calm, *storm;
    uint64_t trace;
    int deaths;
    struct str fresh; /* the bytes of a new store */
};

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        mem_exhausted(bytes);
    }
    return memory;
}

/* --- processes -------------------------------------------------------------------------------- */

enum part { MAKE, LIVE, CHECK, END, TAMPER, PURGE, PURGED };

struct act {
    enum part part;
    struct world world;
    struct page *page;
    const char *kept;
    const struct fault_plan *fault;
    const char *outcome[SIM_RUNS_MAX];
    const char *sql;
    int64_t new_bytes;
};

static void tamper(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_open(path, &db);
    sqlite3_exec(db, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
    sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_close(db);
}

static void perform(struct act *act)
{
    struct page *page = act->page;
    if (act->part == MAKE) {
        if (world_open(&act->world, NULL)) {
            world_close(&act->world);
        }
    } else if (act->part == LIVE) {
        fault_disk_plan(act->fault);
        world_live(&act->world);
    } else if (act->part == PURGE) {
        fault_disk_plan(act->fault);
        world_purge(&act->world);
    } else if (act->part == PURGED) {
        invariant_purged(&act->world, act->kept, act->new_bytes);
    } else if (act->part == CHECK) {
        invariant_check(&act->world, act->kept, &page->histories);
    } else if (act->part == END) {
        invariant_end(&act->world, act->outcome);
    } else if (act->part == TAMPER) {
        tamper(act->world.path, act->sql);
    }
    _exit(0);
}

/* True: it ended by itself. */
static bool run_process(struct act *act)
{
    int status = 0;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);
        }
        perform(act);
    }
    if (pid < 0 || proc_wait(pid, LIFE_MS, &status, NULL) != 0) {
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        board_break(&act->page->board, INV_STUCK, "a process took more than %d s", LIFE_MS / 1000);
        return false;
    }
    bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!is_killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
        board_break(&act->page->board, INV_STUCK, "a process ended with status %d", status);
    }
    return !is_killed;
}

/* --- a seed ----------------------------------------------------------------------------------- */

static struct act act_of(struct seed *seed, struct page *page, const char *store, enum part part)
{
    return (struct act){.part = part,
                        .page = page,
                        .world = {.plan = &seed->plan,
                                  .board = &page->board,
                                  .path = mem_printf("%s/%s.db", seed->dir, store)}};
}

static void perform_one(struct seed *seed, struct page *page, const char *store, enum part part,
                        struct act wish)
{
    struct act act = act_of(seed, page, store, part);
    act.kept = wish.kept;
    act.sql = wish.sql;
    act.fault = wish.fault;
    act.new_bytes = (int64_t)seed->fresh.len;
    act.world.generation = wish.world.generation;
    act.world.plant = page == seed->storm ? seed->plant : NULL;
    memcpy(act.outcome, wish.outcome, sizeof(act.outcome));
    run_process(&act);
    free(act.world.path);
}

/* Both plays begin with a new store, made once: what a crash does to the making of one is the
 * sweep's business. */
static void lay_store(const struct seed *seed, const char *name)
{
    struct err err;
    autofree char *path = mem_printf("%s/%s.db", seed->dir, name);
    if (fs_write_file(path, str_c(&seed->fresh), seed->fresh.len, 0600, &err) < 0) {
        board_break(&seed->storm->board, INV_STUCK, "%s", err.text);
    }
}

/* Undisturbed: how it ends, and how many operations of the disk that takes. */
static bool play_calm(struct seed *seed)
{
    struct fault_plan none = {0};
    perform_one(seed, seed->calm, "calm", LIVE, (struct act){.fault = &none});
    fault_disk_counts(&seed->calm->counts);
    if (!atomic_load(&seed->calm->board.finished)) {
        board_break(&seed->calm->board, INV_STUCK, "the undisturbed play did not end");
    }
    return atomic_load(&seed->calm->board.broken) == INV_NONE;
}

static struct fault_plan choose_fault(struct seed *seed, struct dice *dice)
{
    static const enum fault_mode modes[] = {
        FAULT_KILL_BEFORE, FAULT_KILL_AFTER, FAULT_KILL_TORN,  FAULT_POWER_ALL, FAULT_POWER_ALL,
        FAULT_POWER_HALF,  FAULT_POWER_HALF, FAULT_POWER_HALF, FAULT_EIO,       FAULT_FULL};
    struct fault_plan plan = {.mode = modes[dice_roll(dice, 10)], .seed = dice_next(dice)};
    int64_t operations = seed->calm->counts.operations;
    plan.at = 1 + (int64_t)(dice_next(dice) % (uint64_t)(operations > 1 ? operations : 1));
    if (seed->plant && seed->plant->disk) {
        plan.mode = FAULT_POWER_ALL;
        plan.plant = seed->plant->disk;
    }
    return plan;
}

/* Time goes by while nobody serves. */
static void be_down(struct board *board, struct dice *dice)
{
    int64_t ms = dice_roll(dice, 3) ? dice_roll(dice, 1000) : dice_roll(dice, 3600 * 1000);
    atomic_fetch_add(&board->boot_ns, ms * NS_PER_MS);
    atomic_fetch_add(&board->lost_ns, ms * NS_PER_MS);
}

static bool is_broken(const struct seed *seed)
{
    return atomic_load(&seed->storm->board.broken) != INV_NONE;
}

static void play_storm(struct seed *seed)
{
    struct dice dice = dice_of(seed->plan.seed, 1);
    struct board *board = &seed->storm->board;
    autofree char *kept = mem_printf("%s/kept", seed->dir);
    struct err err;
    fs_mkdirs(kept, 0700, &err);
    for (uint64_t generation = 0; generation < GENERATIONS && !is_broken(seed); generation++) {
        struct fault_plan fault = choose_fault(seed, &dice);
        fault = generation + 1 < GENERATIONS ? fault : (struct fault_plan){0};
        perform_one(seed, seed->storm, "storm", LIVE,
                    (struct act){.fault = &fault, .world.generation = generation});
        fault_disk_counts(&seed->storm->counts);
        seed->trace = sim_mix(seed->trace + seed->storm->counts.trace);
        if (!is_broken(seed)) {
            perform_one(seed, seed->storm, "storm", CHECK, (struct act){.kept = kept});
        }
        seed->trace = sim_mix(seed->trace + atomic_load(&seed->storm->histories));
        if (atomic_load(&board->finished)) {
            break;
        }
        seed->deaths++;
        be_down(board, &dice);
        const struct plant *plant = seed->plant;
        if (plant && plant->sql && !plant->at_end && !plant->in_life) {
            perform_one(seed, seed->storm, "storm", TAMPER, (struct act){.sql = plant->sql});
        }
    }
    if (!atomic_load(&board->finished)) {
        board_break(board, INV_STUCK, "it did not come to its end");
    }
    struct act end = {0};
    for (int run = 0; run < SIM_RUNS_MAX; run++) {
        end.outcome[run] = seed->calm->board.outcome[run];
    }
    if (seed->plant && seed->plant->at_end) {
        perform_one(seed, seed->storm, "storm", TAMPER, (struct act){.sql = seed->plant->sql});
    }
    if (!is_broken(seed)) {
        perform_one(seed, seed->storm, "storm", END, end);
    }
    if (!is_broken(seed) && dice_roll(&dice, 3) == 0) {
        struct fault_plan fault = choose_fault(seed, &dice);
        fault.at = 1 + dice_roll(&dice, PURGE_OPERATIONS);
        perform_one(seed, seed->storm, "storm", PURGE, (struct act){.fault = &fault});
        perform_one(seed, seed->storm, "storm", PURGED, (struct act){.kept = kept});
    }
}

static bool make_dir(struct seed *seed)
{
    struct err err;
    autofree char *prefix = mem_printf("%s/sim", fs_exists("/dev/shm") ? "/dev/shm" : "/tmp");
    if (fs_make_temp_dir(prefix, &seed->dir, &err) < 0) {
        board_break(&seed->storm->board, INV_STUCK, "%s", err.text);
        return false;
    }
    return true;
}

static void remove_dir(struct seed *seed)
{
    fs_remove_tree(seed->dir, NULL);
    free(seed->dir);
}

static void make_fresh(struct seed *seed)
{
    struct err err;
    if (make_dir(seed)) {
        autofree char *path = mem_printf("%s/fresh.db", seed->dir);
        perform_one(seed, seed->calm, "fresh", MAKE, (struct act){0});
        if (fs_read_file(path, (size_t)1 << 30, &seed->fresh, &err) < 0) {
            fprintf(stderr, "simulate: %s\n", err.text);
            exit(2);
        }
        remove_dir(seed);
    }
}

static void play(struct seed *seed)
{
    seed->trace = 1;
    memset(seed->calm, 0, sizeof(*seed->calm));
    memset(seed->storm, 0, sizeof(*seed->storm));
    plan_make(seed->plan.seed, &seed->plan);
    if (!make_dir(seed)) {
        return;
    }
    lay_store(seed, "calm");
    lay_store(seed, "storm");
    if (play_calm(seed)) {
        play_storm(seed);
    } else {
        board_break(&seed->storm->board, (enum invariant)atomic_load(&seed->calm->board.broken),
                    "undisturbed: %s", seed->calm->board.why);
    }
    remove_dir(seed);
}

/* --- many seeds ------------------------------------------------------------------------------- */

struct call {
    uint64_t first;
    int64_t seeds;
    int jobs;
    bool trace, all_plants;
    const struct plant *plant;
};

struct tally {
    _Atomic int64_t next;
    _Atomic int64_t held, broken, deaths;
    _Atomic int64_t found; /* of a plant: the seed whose invariant broke as it should */
};

static void report(const struct call *call, const struct seed *seed)
{
    int broken = atomic_load(&seed->storm->board.broken);
    if (call->trace) {
        printf("seed %llu: trace %016llx, %d deaths\n", (unsigned long long)seed->plan.seed,
               (unsigned long long)seed->trace, seed->deaths);
    }
    if (broken && !call->plant) {
        printf("seed %llu: %s: %s\n    again: simulate --seed %llu\n",
               (unsigned long long)seed->plan.seed, invariant_name((enum invariant)broken),
               seed->storm->board.why, (unsigned long long)seed->plan.seed);
    }
    fflush(stdout);
}

static void work(const struct call *call, struct tally *tally)
{
    struct seed seed = {.calm = share(sizeof(struct page)), .storm = share(sizeof(struct page))};
    int64_t i;
    fault_disk_detach();
    make_fresh(&seed);
    while ((i = atomic_fetch_add(&tally->next, 1)) < call->seeds) {
        seed.plan.seed = call->first + (uint64_t)i;
        seed.plant = call->plant;
        seed.deaths = 0;
        play(&seed);
        report(call, &seed);
        int broken = atomic_load(&seed.storm->board.broken);
        atomic_fetch_add(broken ? &tally->broken : &tally->held, 1);
        atomic_fetch_add(&tally->deaths, seed.deaths);
        if (call->plant && broken == (int)call->plant->finds) {
            atomic_store(&tally->found, (int64_t)seed.plan.seed);
            atomic_store(&tally->next, call->seeds);
            return;
        }
    }
}

static void run_all(const struct call *call, struct tally *tally)
{
    pid_t pids[JOBS_MAX];
    for (int i = 0; i < call->jobs; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            work(call, tally);
            _exit(0);
        }
    }
    for (int i = 0; i < call->jobs; i++) {
        waitpid(pids[i], NULL, 0);
    }
}

static int64_t seed_that_finds(const struct call *call)
{
    struct tally *tally = share(sizeof(*tally));
    run_all(call, tally);
    int64_t seed = atomic_load(&tally->found);
    munmap(tally, sizeof(*tally));
    return seed;
}

/* True: a seed found it: the one that did before, or another, if what happens in it has changed. */
static bool try_plant(const struct call *all, const struct plant *plant)
{
    struct call call = *all;
    call.plant = plant;
    call.first = (uint64_t)plant->seed;
    call.seeds = 1;
    int64_t seed = plant->seed ? seed_that_finds(&call) : 0;
    if (!seed) {
        call.first = 1;
        call.seeds = PLANT_SEEDS;
        seed = seed_that_finds(&call);
    }
    printf("plant %-16s %-13s ", plant->name, invariant_name(plant->finds));
    if (seed) {
        printf("found by seed %lld\n", (long long)seed);
    } else {
        printf("NOT FOUND by %d seeds\n", PLANT_SEEDS);
    }
    fflush(stdout);
    return seed != 0;
}

static int64_t number(const char *text)
{
    char *end;
    errno = 0;
    long long value = text ? strtoll(text, &end, 10) : -1;
    if (value < 0 || *end || errno) {
        fprintf(stderr, "simulate: '%s' is not a number\n", text ? text : "");
        exit(2);
    }
    return value;
}

static struct call parse(char **argv)
{
    struct call call = {.first = 1, .seeds = 1, .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    for (char **at = argv + 1; *at; at++) {
        if (strcmp(*at, "--seed") == 0) {
            call.first = (uint64_t)number(*++at);
        } else if (strcmp(*at, "--seeds") == 0) {
            call.seeds = number(*++at);
        } else if (strcmp(*at, "--jobs") == 0) {
            call.jobs = (int)number(*++at);
        } else if (strcmp(*at, "--trace") == 0) {
            call.trace = true;
        } else if (strcmp(*at, "--plants") == 0) {
            call.all_plants = true;
        } else if (strcmp(*at, "--plant") == 0 && at[1]) {
            call.plant = sim_plants;
            at++;
            while (call.plant->name && strcmp(call.plant->name, *at) != 0) {
                call.plant++;
            }
        } else {
            fprintf(stderr, "simulate: what is '%s'?\n", *at);
            exit(2);
        }
        if (!*at || (call.plant && !call.plant->name)) {
            fprintf(stderr, "simulate: a value is missing, or no plant has that name\n");
            exit(2);
        }
    }
    call.jobs = call.jobs < 1 ? 1 : call.jobs > JOBS_MAX ? JOBS_MAX : call.jobs;
    return call;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct call call = parse(argv);
    fault_disk_register();
    if (call.all_plants || call.plant) {
        int missed = 0;
        for (const struct plant *p = call.all_plants ? sim_plants : call.plant; p->name; p++) {
            missed += !try_plant(&call, p);
            if (!call.all_plants) {
                break;
            }
        }
        return missed ? 1 : 0;
    }
    struct tally *tally = share(sizeof(*tally));
    int64_t since = clock_mono_ns();
    run_all(&call, tally);
    printf("%lld seeds from %llu: %lld deaths, %lld held, %lld broken, %.1f s\n",
           (long long)call.seeds, (unsigned long long)call.first,
           (long long)atomic_load(&tally->deaths), (long long)atomic_load(&tally->held),
           (long long)atomic_load(&tally->broken), (double)(clock_mono_ns() - since) / 1e9);
    return atomic_load(&tally->broken) ? 1 : 0;
}
