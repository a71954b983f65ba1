# SPDX-License-Identifier: MIT
#
# What makes a fault of memory harder to exploit: in every build, as far as compiler and linker know
# it. tests/setup/test_hardening.py reads the programs; docs/performance.md says what it costs.

include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)

# The libraries of archives are compiled as the programs are: -fPIC would cost calls between files.
set(harden_type $<TARGET_PROPERTY:TYPE>)
set(harden_program $<STREQUAL:${harden_type},EXECUTABLE>)
set(harden_module $<STREQUAL:${harden_type},MODULE_LIBRARY>)

# harden_flag(compile|link FLAG [CONDITION]): adds the flag where it is known.
function(harden_flag kind flag)
    string(MAKE_C_IDENTIFIER "UNCORK_HAS${flag}" known)
    set(CMAKE_REQUIRED_FLAGS -Werror) # clang only warns of a flag that the system does not have
    set(added ${flag})
    if(ARGC GREATER 2)
        set(added "$<${ARGV2}:${flag}>")
    endif()
    if(kind STREQUAL "link")
        check_linker_flag(C ${flag} ${known})
        if(${known})
            add_link_options(${added})
        endif()
    else()
        check_c_compiler_flag(${flag} ${known})
        if(${known})
            add_compile_options(${added})
        endif()
    endif()
endfunction()

harden_flag(compile -fPIE "$<NOT:${harden_module}>")
harden_flag(compile -fstack-protector-strong)
harden_flag(compile -fstack-clash-protection)
harden_flag(compile -fcf-protection)
harden_flag(compile -mbranch-protection=standard)
if(NOT UNCORK_STATIC) # that has -static-pie
    harden_flag(link -pie ${harden_program})
endif()
harden_flag(link LINKER:-z,relro)
harden_flag(link LINKER:-z,now)
harden_flag(link LINKER:-z,noexecstack)

# glibc checks sizes only in optimised code, and warns of a level that it does not know. The compiler
# or the flags of a distribution may have defined a level before. Sanitizers check more themselves.
if(NOT sanitize)
    set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
    check_c_source_compiles("#include <stdio.h>
int main(void) { return 0; }" UNCORK_HAS_FORTIFY_3)
    unset(CMAKE_REQUIRED_FLAGS)
    set(level 2)
    if(UNCORK_HAS_FORTIFY_3)
        set(level 3)
    endif()
    set(optimised "$<AND:$<NOT:${harden_module}>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>")
    add_compile_options("$<${optimised}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${level}>")
endif()
