/*
 * json_locale.h - private to json.c and json_out.c: the C locale, whatever the program has set.
 *
 * Owns: one locale object, made once and kept. JSON's decimal point is a point in every country.
 */
#ifndef BASE_JSON_LOCALE_H
#define BASE_JSON_LOCALE_H

#include <locale.h>

locale_t json_locale(void); /* never fails, thread-safe */

#endif
