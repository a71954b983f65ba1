# SPDX-License-Identifier: MIT
#
# What `cmake --install` installs. bin has the programs and the link `uncork`. share/uncork has the
# suite and what it reads, in the same folders as the checkout. Its file `installed` marks an
# installation (scripts/suite/base/installation.py, scripts/setup/lib.sh).
#
# The component uncork has all of that, the component server has the server alone. Each is a package
# (cmake/packages.cmake).

include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME uncork)
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE) # whatever the umask is
set(share ${CMAKE_INSTALL_DATADIR}/uncork)

# Both paths are relative, so that an installation can be moved.
file(RELATIVE_PATH to_programs ${CMAKE_INSTALL_FULL_DATADIR}/uncork ${CMAKE_INSTALL_FULL_BINDIR})
file(RELATIVE_PATH to_share ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/uncork)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/install/completions)
file(WRITE ${CMAKE_BINARY_DIR}/install/installed "${to_programs}\n")
file(CREATE_LINK ${to_share}/scripts/uncork ${CMAKE_BINARY_DIR}/install/uncork SYMBOLIC)

install(TARGETS uncork-server uncork-client RUNTIME)
if(TARGET uncork-exec)
    install(TARGETS uncork-exec RUNTIME)
    install(TARGETS uncork-override LIBRARY DESTINATION ${override_folder})
    install(TARGETS uncork-override LIBRARY DESTINATION ${override_folder} COMPONENT server EXCLUDE_FROM_ALL)
endif()
install(PROGRAMS ${CMAKE_BINARY_DIR}/install/uncork DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_BINARY_DIR}/install/installed DESTINATION ${share})
install(PROGRAMS scripts/uncork DESTINATION ${share}/scripts)
foreach(file kernels python target)
    install(PROGRAMS scripts/setup/${file} DESTINATION ${share}/scripts/setup)
endforeach()
foreach(file debian.sh lib.sh packages packages.sh pypi.sh targets)
    install(FILES scripts/setup/${file} DESTINATION ${share}/scripts/setup)
endforeach()
install(DIRECTORY scripts/suite scripts/ansible DESTINATION ${share}/scripts
        PATTERN __pycache__ EXCLUDE PATTERN *.pyc EXCLUDE)
install(DIRECTORY claims scenarios plots DESTINATION ${share})
install(FILES docs/reading.md DESTINATION ${share}/docs)
install(DIRECTORY results/reference DESTINATION ${share}/results FILES_MATCHING PATTERN *.tar.xz)
foreach(list base/synonyms.def read/list.def write/list.def)
    get_filename_component(folder ${list} DIRECTORY)
    install(FILES common/${list} DESTINATION ${share}/common/${folder})
endforeach()
foreach(page IN LISTS pages)
    cmake_path(GET page PARENT_PATH section)
    cmake_path(GET section FILENAME section)
    set(section ${CMAKE_INSTALL_MANDIR}/${section})
    install(FILES ${page} DESTINATION ${section})
    if(page MATCHES uncork-server)
        install(FILES ${page} DESTINATION ${section} COMPONENT server EXCLUDE_FROM_ALL)
    endif()
endforeach()
# bash-completion(1) loads the file with the name of the command. Debian's zsh has another folder
# below /usr.
set(completions ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES scripts/completion/uncork.bash DESTINATION ${completions} RENAME uncork)
foreach(program uncork-client uncork-server)
    file(CREATE_LINK uncork ${CMAKE_BINARY_DIR}/install/completions/${program} SYMBOLIC)
    install(FILES ${CMAKE_BINARY_DIR}/install/completions/${program} DESTINATION ${completions})
endforeach()
install(CODE "set(zsh site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    set(zsh vendor-completions)
endif()
file(INSTALL ${CMAKE_SOURCE_DIR}/scripts/completion/_uncork
     DESTINATION \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${zsh})")
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md PATTERN *.png
        PATTERN man EXCLUDE)

install(TARGETS uncork-server RUNTIME COMPONENT server EXCLUDE_FROM_ALL)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}-server RENAME copyright COMPONENT server
        EXCLUDE_FROM_ALL)

# systemd reads units below /usr and /usr/local. The unit has the full path of the program.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    foreach(component uncork server)
        set(others "")
        if(component STREQUAL "server")
            set(others EXCLUDE_FROM_ALL)
        endif()
        install(CODE "set(bindir \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR})
configure_file(${CMAKE_SOURCE_DIR}/cmake/systemd/uncork-server.service.in
               ${CMAKE_BINARY_DIR}/install/uncork-server.service @ONLY)
file(INSTALL ${CMAKE_BINARY_DIR}/install/uncork-server.service
     ${CMAKE_SOURCE_DIR}/cmake/systemd/uncork-server.socket
     DESTINATION \${CMAKE_INSTALL_PREFIX}/lib/systemd/system)" COMPONENT ${component} ${others})
    endforeach()
endif()
