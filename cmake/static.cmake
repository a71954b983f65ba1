# SPDX-License-Identifier: MIT
#
# UNCORK_STATIC: links every library that pkg_check_modules() has found from its archive (lib*.a).
# Functions that need other libraries at run time are replaced by those of cmake/static/*.c.
# Included after the libraries have been found.

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR " UNCORK_STATIC=ON: ${CMAKE_SYSTEM_NAME} has no static programs here, only Linux")
endif()

# Libraries without an archive in most distributions. At run time they would load other libraries or
# connect to a message bus.
set(static_replaced p11-kit dbus-1 systemd)

add_library(replacements OBJECT cmake/static/libc.c)
target_include_directories(replacements PRIVATE ${LIBUV_INCLUDE_DIRS})
if(GNUTLS_FOUND)
    target_sources(replacements PRIVATE cmake/static/p11_kit.c)
endif()
if(PCAP_FOUND)
    target_sources(replacements PRIVATE cmake/static/pcap_dbus.c)
endif()

# static_archive(RESULT MODULE NAME FOLDER...): the archive of the library NAME, which MODULE needs
# according to pkg-config.
function(static_archive result module name)
    find_library(STATIC_${name} NAMES lib${name}.a lib${name}_a.a HINTS ${ARGN} ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
    mark_as_advanced(STATIC_${name})
    if(NOT STATIC_${name})
        message(FATAL_ERROR " UNCORK_STATIC=ON: ${module} needs lib${name}.a, which is missing: scripts/setup/target static "
                            "installs it on Debian; elsewhere build without UNCORK_STATIC")
    endif()
    set(${result} ${STATIC_${name}} PARENT_SCOPE)
endfunction()

foreach(module LIBUV JANSSON LIBURING GNUTLS OPENSSL PCAP SECCOMP)
    if(NOT ${module}_FOUND)
        continue()
    endif()
    set(archives "")
    list(REMOVE_ITEM ${module}_STATIC_LIBRARIES ${static_replaced})
    foreach(name IN LISTS ${module}_STATIC_LIBRARIES)
        static_archive(archive ${${module}_MODULE_NAME} ${name} ${${module}_STATIC_LIBRARY_DIRS})
        list(APPEND archives ${archive})
    endforeach()
    set_target_properties(PkgConfig::${module} PROPERTIES INTERFACE_LINK_LIBRARIES "${archives}")
endforeach()
# As objects they come before all archives, so that what they define is taken from no archive.
set_property(TARGET PkgConfig::LIBUV APPEND PROPERTY INTERFACE_LINK_LIBRARIES $<TARGET_OBJECTS:replacements>)
if(UNCORK_WERROR)
    add_link_options(LINKER:--fatal-warnings) # the linker warns of functions that load libraries
endif()
add_link_options(-static-pie LINKER:--wrap=dlopen) # cmake/static/libc.c says why it is wrapped
