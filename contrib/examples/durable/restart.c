/*
 * restart.c - a process dies in the middle; the next one goes on from the last commit.
 */
#include "example.h"
#include <sys/wait.h>

/* Writes a line to a file, which is the world here. */
static int note(dur_activity *act, const char *input, const char **result, void *user)
{
    char path[320];
    FILE *file;
    (void)result;
    snprintf(path, sizeof(path), "%s/notes", example_dir);
    file = fopen(path, "a");
    CHECK(file != NULL);
    fprintf(file, "%s ", dur_json_string(act, input, ""));
    fclose(file);
    if (user && strcmp(input, "\"two\"") == 0) {
        _exit(1); /* the power goes, after the effect and before its record */
    }
    return DUR_OK;
}

static int three_steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    static const char *const words[] = {"\"one\"", "\"two\"", "\"three\""};
    int i, rc = DUR_OK;
    (void)input;
    (void)user;
    for (i = 0; rc == DUR_OK && i < 3; i++) {
        rc = dur_run(ctx, "Note", words[i], NULL, NULL);
    }
    *result = "\"done\"";
    return rc;
}

static void serve(int is_doomed)
{
    dur_engine *engine = example_open();
    int rc;
    dur_register_activity(engine, "Note", note, is_doomed ? engine : NULL);
    dur_register_workflow(engine, "ThreeSteps", three_steps, NULL);
    rc = dur_start(engine, "ThreeSteps", "w", NULL, NULL);
    CHECK(rc == DUR_OK || rc == DUR_EXISTS); /* it is there already: fine */
    OK(engine, dur_serve(engine, DUR_UNTIL_IDLE));
    example_expect(engine, "w", "\"done\"");
    dur_close(engine);
}

int main(void)
{
    char path[320], notes[64] = "";
    FILE *file;
    pid_t pid;
    dur_close(example_open()); /* makes the directory, for both */
    pid = fork();
    if (pid == 0) {
        serve(1);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    serve(0);

    snprintf(path, sizeof(path), "%s/notes", example_dir);
    file = fopen(path, "r");
    CHECK(file != NULL && fgets(notes, sizeof(notes), file) != NULL);
    fclose(file);
    unlink(path);
    /* "one" is recorded and not done again. "two" happened and nobody knew: activities run at least
     * once, and dur_activity_key() is there for those that must tell. */
    CHECK(strcmp(notes, "one two two three ") == 0);
    return example_end(NULL, "restart: went on after the second step");
}
