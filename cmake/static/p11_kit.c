/* SPDX-License-Identifier: MIT */
/* GnuTLS reaches keys on smart cards by p11-kit, which loads a module for each when the program runs; there
 * is no static p11-kit. Here keys are known to both ends before, so none of this is ever called: not by a
 * handshake, nor at the beginning or the end of a program. Who calls it nevertheless is ended with its name:
 * whatever else it were given could be taken for an answer. */
#include <stdio.h>
#include <stdlib.h>

/* The name and nothing else counts for the linker. */
#define REFUSED(name)                                                                                        \
    _Noreturn void p11_kit_##name(void);                                                                     \
    _Noreturn void p11_kit_##name(void)                                                                      \
    {                                                                                                        \
        fputs("uncork: p11_kit_" #name "() was called, and a static build has no PKCS#11 modules\n",         \
              stderr);                                                                                       \
        abort();                                                                                             \
    }
/* clang-format off */
REFUSED(config_option) REFUSED(iter_add_filter) REFUSED(iter_begin_with) REFUSED(iter_free)
REFUSED(iter_get_attributes) REFUSED(iter_get_object) REFUSED(iter_new) REFUSED(iter_next) REFUSED(message)
REFUSED(module_finalize) REFUSED(module_get_flags) REFUSED(module_get_name) REFUSED(module_load)
REFUSED(module_release) REFUSED(modules_load) REFUSED(pin_file_callback) REFUSED(pin_get_length)
REFUSED(pin_get_value) REFUSED(pin_new_for_string) REFUSED(pin_register_callback) REFUSED(pin_request)
REFUSED(pin_unref) REFUSED(pin_unregister_callback) REFUSED(space_strdup) REFUSED(space_strlen)
REFUSED(strerror) REFUSED(uri_format) REFUSED(uri_free) REFUSED(uri_get_attribute) REFUSED(uri_get_attributes)
REFUSED(uri_get_module_info) REFUSED(uri_get_pin_source) REFUSED(uri_get_pin_value)
REFUSED(uri_get_token_info) REFUSED(uri_match_module_info) REFUSED(uri_match_token_info) REFUSED(uri_new)
REFUSED(uri_parse) REFUSED(uri_set_attribute)
    /* clang-format on */
