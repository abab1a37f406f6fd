# Run by ctest: the simulator judges FlagProf, so it may take nothing from it; and every fault is documented.
# In: SOURCE, the root of the tree. Out: a failure that names the file and line, or the fault.
file(GLOB_RECURSE sources ${SOURCE}/sim/*.c ${SOURCE}/sim/*.h ${SOURCE}/sim/*.cpp)
foreach(source ${sources})
  file(STRINGS ${source} lines REGEX "#include.*(flagprof/|src/|tracers/|recording/|base/)")
  if(lines)
    message(SEND_ERROR "${source} includes FlagProf's own code: ${lines}")
  endif()
endforeach()

file(STRINGS ${SOURCE}/sim/faults.def faults REGEX "^FAULT\\(")
file(READ ${SOURCE}/docs/simulator.md text)
foreach(fault ${faults})
  string(REGEX REPLACE "^FAULT\\(([a-z0-9_]+),.*" "\\1" name "${fault}")
  if(NOT text MATCHES "`${name}[`=]")
    message(SEND_ERROR "docs/simulator.md does not tell of the fault ${name}")
  endif()
endforeach()
