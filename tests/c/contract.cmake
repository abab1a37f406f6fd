# The vendor contract's C form, once for each row of vendors.json: a test binary's worth of checks by the command itself,
# so that the sanitizers see every facade and every tracer in it.
file(READ ${CMAKE_SOURCE_DIR}/python/flagprof/conformance/vendors.json rows)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/flagprof/conformance/vendors.json)
string(JSON row_count LENGTH "${rows}")
math(EXPR last "${row_count} - 1")
foreach(number RANGE ${last})
  string(JSON row MEMBER "${rows}" ${number})
  string(JSON facade GET "${rows}" ${row} facade)
  if(facade STREQUAL "cupti-13.0" AND NOT TARGET flagsim_cupti_13_0)
    continue() # needs NVIDIA's headers
  endif()
  add_test(NAME contract_${row} COMMAND flagprof conformance --native --row ${row} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(contract_${row} PROPERTIES LABELS quick TIMEOUT 120)
endforeach()
