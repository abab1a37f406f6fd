# Tracers once more, built so that each countermeasure can be switched off: without it the tests must fail. The objects
# named here stand before those of fp_core, which are then not taken.
function(add_ablation name)
  cmake_parse_arguments(ARG "" "" "PARTS;NEEDS" ${ARGN})
  set(test test_${name}_ablation)
  list(TRANSFORM ARG_PARTS PREPEND ${CMAKE_SOURCE_DIR}/src/tracers/)
  list(TRANSFORM ARG_PARTS APPEND .c)
  add_executable(${test} ${name}_ablation.c ${ARG_PARTS})
  target_compile_definitions(${test} PRIVATE FP_ABLATION BUILD_DIR="${CMAKE_BINARY_DIR}")
  target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/sim ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${test} PRIVATE fp_core flagsim ${CMOCKA})
  if(ARG_NEEDS)
    add_dependencies(${test} ${ARG_NEEDS})
  endif()
  add_test(NAME ${test} COMMAND ${test} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(${test} PROPERTIES LABELS quick TIMEOUT 300)
endfunction()

add_ablation(cupti PARTS cupti cupti_decode cupti_open)
add_ablation(twin PARTS twin_session twin_decode mcpti mupti cupti_ppu NEEDS flagsim_mcpti flagsim_mupti flagsim_ppu)
add_ablation(roctracer PARTS roctracer roctracer_decode roctracer_entries roctracer_open
             NEEDS flagsim_hip flagsim_roctracer flagsim_dtk)
add_ablation(mspti PARTS mspti mspti_decode NEEDS flagsim_mspti flagsim_ascendcl)
add_ablation(topspti PARTS topspti topspti_decode topspti_calibrate NEEDS flagsim_topspti)
