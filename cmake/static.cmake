# SPDX-License-Identifier: MIT
#
# UNCORK_STATIC: every library that pkg_check_modules() has found is linked from its archive (lib*.a), and what an archive
# wants that no static program can have is answered by cmake/static/*.c. Included after the libraries have been found.

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR " UNCORK_STATIC=ON: ${CMAKE_SYSTEM_NAME} has no static programs here, only Linux")
endif()

# Libraries of which few distributions have an archive, and which would load others or ask a bus when the program runs.
set(static_answered p11-kit dbus-1 systemd)

add_library(answers OBJECT cmake/static/libc.c)
target_include_directories(answers PRIVATE ${LIBUV_INCLUDE_DIRS})
if(GNUTLS_FOUND)
    target_sources(answers PRIVATE cmake/static/p11_kit.c)
endif()
if(PCAP_FOUND)
    target_sources(answers PRIVATE cmake/static/pcap_dbus.c)
endif()

# static_archive(RESULT MODULE NAME FOLDER...): the archive of library NAME, which pkg-config names for MODULE.
function(static_archive result module name)
    find_library(STATIC_${name} NAMES lib${name}.a lib${name}_a.a HINTS ${ARGN} ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
    mark_as_advanced(STATIC_${name})
    if(NOT STATIC_${name})
        message(FATAL_ERROR " UNCORK_STATIC=ON: ${module} needs lib${name}.a, which is not here: scripts/setup/target static "
                            "installs what Debian has; elsewhere build without UNCORK_STATIC")
    endif()
    set(${result} ${STATIC_${name}} PARENT_SCOPE)
endfunction()

foreach(module LIBUV JANSSON LIBURING GNUTLS OPENSSL PCAP)
    if(NOT ${module}_FOUND)
        continue()
    endif()
    set(archives "")
    list(REMOVE_ITEM ${module}_STATIC_LIBRARIES ${static_answered})
    foreach(name IN LISTS ${module}_STATIC_LIBRARIES)
        static_archive(archive ${${module}_MODULE_NAME} ${name} ${${module}_STATIC_LIBRARY_DIRS})
        list(APPEND archives ${archive})
    endforeach()
    set_target_properties(PkgConfig::${module} PROPERTIES INTERFACE_LINK_LIBRARIES "${archives}")
endforeach()
# Objects, and so before all archives: what they define is taken from no archive any more.
set_property(TARGET PkgConfig::LIBUV APPEND PROPERTY INTERFACE_LINK_LIBRARIES $<TARGET_OBJECTS:answers>)
if(UNCORK_WERROR)
    add_link_options(LINKER:--fatal-warnings) # which the linker has where something would be loaded
endif()
add_link_options(-static LINKER:--wrap=dlopen) # why it is wrapped: cmake/static/libc.c
