/*
 * fuzz_config.c - a configuration may be any bytes: it is good and can be printed, or its problems
 * are named, in the order of their lines.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "factory/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Printed, read back as JSON, and the same text gives the same digest. */
static void use(const struct config *config, const char *text, size_t len)
{
    autostr struct str printed = {0};
    autoconfig struct config *again = NULL;
    struct json_out out = json_writer(&printed, 0);
    config_print(&out, config);
    if (json_check(str_c(&printed), printed.len, NULL) < 0 ||
        config_parse("again.ini", text, len, &again, NULL) < 0 ||
        strcmp(again->digest, config->digest) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    autoconfig struct config *config = NULL;
    struct err err = {0};
    const char *text = (const char *)bytes;
    if (memmem(text, len, "_file", 5)) { /* it would read files of this machine */
        return 0;
    }
    int rc = config_parse("fuzz.ini", text, len, &config, &err);
    if ((rc == 0) != (config != NULL) || (rc < 0 && !err.text[0])) {
        abort();
    }
    if (config) {
        use(config, text, len);
    }
    return 0;
}
