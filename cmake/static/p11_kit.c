/* SPDX-License-Identifier: MIT */
/* GnuTLS uses keys on smart cards by p11-kit, which loads modules at run time; there is no static
 * p11-kit. Both ends of uncork have pre-shared keys, so none of these functions is called: not in a
 * handshake, nor at the start or the end of a program. A call ends the program with the name of the
 * function, because any return value could be taken for a result. */
#include <stdio.h>
#include <stdlib.h>

/* The linker needs the names only, so all have the same type. */
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
