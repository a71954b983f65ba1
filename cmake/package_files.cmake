# SPDX-License-Identifier: MIT
#
# CPack runs this to make what a Debian package has and an installation has not: compressed man
# pages, and changelogs.

set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/usr/share)
file(GLOB files ${share}/man/man*/*.[1-9])
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../CHANGELOG.md released
     REGEX "^## ${CPACK_PACKAGE_VERSION} ")
string(REGEX MATCH "[0-9]+-[0-9]+-[0-9]+" released "${released}")
execute_process(COMMAND date -u -R -d "${released}" OUTPUT_VARIABLE released
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(GLOB documents ${share}/doc/*/copyright)
foreach(document IN LISTS documents)
    get_filename_component(folder ${document} DIRECTORY)
    get_filename_component(package ${folder} NAME)
    set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
    file(WRITE ${folder}/changelog.Debian "${package} (${version}) stable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}; the changelog of uncork says what is in it.

 -- ${CPACK_PACKAGE_CONTACT}  ${released}
")
    list(APPEND files ${folder}/changelog.Debian)
    if(EXISTS ${folder}/CHANGELOG.md)
        file(RENAME ${folder}/CHANGELOG.md ${folder}/changelog)
        list(APPEND files ${folder}/changelog)
    endif()
endforeach()
foreach(file IN LISTS files)
    execute_process(COMMAND gzip -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
    file(CHMOD ${file}.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()
