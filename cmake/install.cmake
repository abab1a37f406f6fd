# install.cmake - what is installed, and where: below a prefix (make install) or inside the Python package (a wheel).
#
# Beside the command and the library go the adaptor's sources, since the adaptor is built on the user's machine against
# the torch that is there, and the simulated accelerator, on which FlagProf is tried without hardware. _where.json tells
# the Python package where the rest of it lies, relative to itself; nothing else knows both layouts.
include(GNUInstallDirs)

if(SKBUILD)
  set(python_dir .)
  set(bin_dir ${SKBUILD_SCRIPTS_DIR})
  set(lib_dir flagprof/_native/lib)
  set(include_dir flagprof/_native/include)
  set(source_dir flagprof/_native/src)
  set(sim_dir flagprof/_native/lib/sim)
  set(sim_source_dir flagprof/_native/sim)
  set(man_dir ${SKBUILD_DATA_DIR}/share/man)
else()
  # Debian's Python looks below /usr/local in dist-packages, all others in site-packages.
  find_package(Python3 3.11 COMPONENTS Interpreter QUIET)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
      "import sys, sysconfig as s; print('lib/python%d.%d/%s-packages' % (*sys.version_info[:2], 'dist' if 'deb_system' in s.get_scheme_names() else 'site'))"
    OUTPUT_VARIABLE python_default OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(FLAGPROF_PYTHON_DIR "${python_default}" CACHE STRING "where the Python package goes, below the prefix; empty: nowhere")
  set(python_dir ${FLAGPROF_PYTHON_DIR})
  set(bin_dir ${CMAKE_INSTALL_BINDIR})
  set(lib_dir ${CMAKE_INSTALL_LIBDIR})
  set(include_dir ${CMAKE_INSTALL_INCLUDEDIR})
  set(source_dir ${CMAKE_INSTALL_DATADIR}/flagprof/src)
  set(sim_dir ${CMAKE_INSTALL_LIBDIR}/flagprof/sim)
  set(sim_source_dir ${CMAKE_INSTALL_DATADIR}/flagprof/sim)
  set(man_dir ${CMAKE_INSTALL_MANDIR})
endif()

install(TARGETS flagprof DESTINATION ${bin_dir})
install(TARGETS libflagprof DESTINATION ${lib_dir})
install(DIRECTORY include/flagprof DESTINATION ${include_dir} FILES_MATCHING PATTERN "*.h")
if(EXISTS ${CMAKE_SOURCE_DIR}/src/kineto)
  install(DIRECTORY src/kineto DESTINATION ${source_dir} FILES_MATCHING PATTERN "*.cc" PATTERN "*.h" PATTERN "*.inc")
endif()

if(NOT SKBUILD)
  # The prefix is found from where the file lies, so that a staged or a moved tree is right too.
  file(RELATIVE_PATH to_prefix /prefix/${lib_dir}/pkgconfig /prefix)
  file(WRITE ${CMAKE_BINARY_DIR}/flagprof.pc
"prefix=\${pcfiledir}/${to_prefix}
libdir=\${prefix}/${lib_dir}
includedir=\${prefix}/${include_dir}

Name: flagprof
Description: records what an accelerator did
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
Libs: -L\${libdir} -lflagprof
")
  install(FILES ${CMAKE_BINARY_DIR}/flagprof.pc DESTINATION ${lib_dir}/pkgconfig)
endif()

add_subdirectory(docs/man)

# --- the simulated accelerator ---
set(sim_targets)
if(TARGET flagsim)
  function(collect_libraries directory result)
    get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target ${targets})
      get_target_property(type ${target} TYPE)
      if(type STREQUAL "SHARED_LIBRARY" OR type STREQUAL "MODULE_LIBRARY")
        list(APPEND ${result} ${target})
      endif()
    endforeach()
    get_property(directories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
    foreach(below ${directories})
      collect_libraries(${below} ${result})
    endforeach()
    set(${result} ${${result}} PARENT_SCOPE)
  endfunction()
  collect_libraries(${CMAKE_SOURCE_DIR}/sim sim_targets)
  # As they lie in the build folder: facades are told apart by their folders, and find the simulator beside or above.
  foreach(target ${sim_targets})
    get_target_property(folder ${target} LIBRARY_OUTPUT_DIRECTORY)
    if(NOT folder)
      get_target_property(folder ${target} BINARY_DIR)
    endif()
    file(RELATIVE_PATH folder ${CMAKE_BINARY_DIR}/sim ${folder})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/..;$ORIGIN/../..")
    install(TARGETS ${target} DESTINATION ${sim_dir}/${folder})
  endforeach()
  install(DIRECTORY sim/torch DESTINATION ${sim_source_dir} OPTIONAL)
  install(FILES sim/flagsim.h sim/faults.def DESTINATION ${sim_source_dir})
endif()

# --- the Python package ---
if(python_dir)
  # Writes _where.json for a package: the named places, relative to the package's folder.
  function(install_where package)
    set(library ${lib_dir}/libflagprof.so)
    set(command ${bin_dir}/flagprof)
    set(include ${include_dir})
    set(source ${source_dir})
    set(simulator ${sim_dir})
    set(simulator_source ${sim_source_dir})
    set(lines)
    foreach(place ${ARGN})
      if(SKBUILD AND place STREQUAL "command") # <prefix>/lib/pythonX.Y/site-packages/flagprof, wherever pip puts it
        set(path ../../../../bin/flagprof)
      else()
        file(RELATIVE_PATH path /prefix/${python_dir}/${package} /prefix/${${place}})
      endif()
      list(APPEND lines "  \"${place}\": \"${path}\"")
    endforeach()
    list(JOIN lines ",\n" text)
    file(WRITE ${CMAKE_BINARY_DIR}/where/${package}/_where.json "{\n${text}\n}\n")
    install(FILES ${CMAKE_BINARY_DIR}/where/${package}/_where.json DESTINATION ${python_dir}/${package})
  endfunction()

  install_where(flagprof library command include source simulator simulator_source)
  install(DIRECTORY python/flagprof DESTINATION ${python_dir} FILES_MATCHING PATTERN "*.py" PATTERN "*.json" PATTERN "*.typed")
  if(TARGET flagsim AND EXISTS ${CMAKE_SOURCE_DIR}/sim/python)
    install_where(flagos simulator simulator_source)
    install(DIRECTORY sim/python/ DESTINATION ${python_dir} FILES_MATCHING PATTERN "*.py")
  endif()
endif()
