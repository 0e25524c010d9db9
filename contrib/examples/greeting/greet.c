/*
 * greet.c - says a greeting; the whole of a small project.
 * Usage: greet [NAME]
 */
#include <stdio.h>

#define GREETING "hello"

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "world";
    if (argc > 2) {
        fprintf(stderr, "usage: greet [NAME]\n");
        return 2;
    }
    printf("%s, %s\n", GREETING, name);
    return 0;
}
