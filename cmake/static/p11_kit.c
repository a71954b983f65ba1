/* SPDX-License-Identifier: MIT */
/* GnuTLS reaches keys on smart cards by p11-kit, which loads a module for each when the program runs; there
 * is no static p11-kit. Here keys are known to both ends before, so none of this is ever called: not by a
 * handshake, nor at the beginning or the end of a program. Who calls it nevertheless is ended with its name:
 * whatever else it were given could be taken for an answer. */
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void refuse(const char *name)
{
    fprintf(stderr, "uncork: %s() was called, and a static build has no PKCS#11 modules\n", name);
    abort();
}

/* The name and nothing else counts for the linker. */
#define REFUSED(name)                                                                                        \
    _Noreturn void name(void);                                                                               \
    _Noreturn void name(void)                                                                                \
    {                                                                                                        \
        refuse(#name);                                                                                       \
    }

REFUSED(p11_kit_config_option)
REFUSED(p11_kit_iter_add_filter)
REFUSED(p11_kit_iter_begin_with)
REFUSED(p11_kit_iter_free)
REFUSED(p11_kit_iter_get_attributes)
REFUSED(p11_kit_iter_get_object)
REFUSED(p11_kit_iter_new)
REFUSED(p11_kit_iter_next)
REFUSED(p11_kit_message)
REFUSED(p11_kit_module_finalize)
REFUSED(p11_kit_module_get_flags)
REFUSED(p11_kit_module_get_name)
REFUSED(p11_kit_module_load)
REFUSED(p11_kit_module_release)
REFUSED(p11_kit_modules_load)
REFUSED(p11_kit_pin_file_callback)
REFUSED(p11_kit_pin_get_length)
REFUSED(p11_kit_pin_get_value)
REFUSED(p11_kit_pin_new_for_string)
REFUSED(p11_kit_pin_register_callback)
REFUSED(p11_kit_pin_request)
REFUSED(p11_kit_pin_unref)
REFUSED(p11_kit_pin_unregister_callback)
REFUSED(p11_kit_space_strdup)
REFUSED(p11_kit_space_strlen)
REFUSED(p11_kit_strerror)
REFUSED(p11_kit_uri_format)
REFUSED(p11_kit_uri_free)
REFUSED(p11_kit_uri_get_attribute)
REFUSED(p11_kit_uri_get_attributes)
REFUSED(p11_kit_uri_get_module_info)
REFUSED(p11_kit_uri_get_pin_source)
REFUSED(p11_kit_uri_get_pin_value)
REFUSED(p11_kit_uri_get_token_info)
REFUSED(p11_kit_uri_match_module_info)
REFUSED(p11_kit_uri_match_token_info)
REFUSED(p11_kit_uri_new)
REFUSED(p11_kit_uri_parse)
REFUSED(p11_kit_uri_set_attribute)
