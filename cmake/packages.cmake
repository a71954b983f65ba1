# SPDX-License-Identifier: MIT
#
# Debian packages, which scripts/package makes by CPack: uncork, and uncork-server for a machine
# that only serves. uncork has the server too, so that one file installs everything. The two packages
# conflict.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "uncork authors")
set(CPACK_PACKAGE_CONTACT "uncork authors <uncork@users.noreply.github.com>")
if(DEFINED ENV{DEBEMAIL}) # other Debian tools use it, too
    set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_COMPONENTS_ALL uncork server)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package_files.cmake)

# A package is for the release of Debian or Ubuntu on which it is built: it names its libraries.
file(STRINGS /etc/os-release system REGEX "^(ID|VERSION_ID)=")
list(TRANSFORM system REPLACE "^[A-Z_]+=\"?([^\"]*)\"?$" "\\1")
list(SORT system ORDER DESCENDING) # the name, then the number
list(JOIN system "" system)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~${system})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

# uncork depends on modules of Python for all commands, and on programs for some commands only.
file(STRINGS scripts/setup/packages rows REGEX "^(python|command):.*[ +]run(\\+.*)?$")
set(depends "python3 (>= 3.11)")
foreach(row IN LISTS rows)
    string(REGEX REPLACE " +" ";" row "${row}")
    list(GET row 0 probe)
    list(GET row 1 names)
    string(REPLACE "+" ";" names ${names})
    if(probe MATCHES "^python:")
        list(APPEND depends ${names})
    else()
        list(APPEND recommends ${names})
    endif()
endforeach()
list(REMOVE_DUPLICATES recommends)
list(JOIN depends ", " CPACK_DEBIAN_UNCORK_PACKAGE_DEPENDS)
list(JOIN recommends ", " CPACK_DEBIAN_UNCORK_PACKAGE_RECOMMENDS)
set(CPACK_DEBIAN_UNCORK_PACKAGE_NAME uncork)
set(CPACK_DEBIAN_UNCORK_PACKAGE_PROVIDES
    "uncork-server (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_UNCORK_PACKAGE_CONFLICTS uncork-server)
set(CPACK_DEBIAN_UNCORK_PACKAGE_REPLACES uncork-server)
# The package compiles the suite at its installation, which saves 0.1 s at each start.
set(CPACK_DEBIAN_UNCORK_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/cmake/debian/postinst
    ${CMAKE_SOURCE_DIR}/cmake/debian/prerm)
set(CPACK_DEBIAN_UNCORK_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME uncork-server)
set(CPACK_DEBIAN_UNCORK_DESCRIPTION "measures what a way of writing to a socket costs, and why
uncork starts a client and a server with every combination of write strategy,
message size, TLS library and socket option that is asked for, in random order.
It counts segments, system calls and CPU time, and makes tables and pictures
with confidence intervals.")
set(CPACK_DEBIAN_SERVER_DESCRIPTION "server of uncork, for the other machine
Answers the clients of uncork, which measures what a way of writing to a socket
costs. The package uncork has this server too.")
include(CPack)
