# ROCtracer's tracer once more, built so that each countermeasure can be switched off: without it the tests must fail. The
# objects named here stand before those of fp_core, which are then not taken.
set(parts roctracer roctracer_decode roctracer_entries roctracer_open)
list(TRANSFORM parts PREPEND ${CMAKE_SOURCE_DIR}/src/tracers/)
list(TRANSFORM parts APPEND .c)
add_executable(test_roctracer_ablation roctracer_ablation.c ${parts})
target_compile_definitions(test_roctracer_ablation PRIVATE FP_ABLATION BUILD_DIR="${CMAKE_BINARY_DIR}")
target_include_directories(test_roctracer_ablation PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/sim)
target_link_libraries(test_roctracer_ablation PRIVATE fp_core flagsim ${CMOCKA})
add_dependencies(test_roctracer_ablation flagsim_hip flagsim_roctracer flagsim_dtk)
add_test(NAME test_roctracer_ablation COMMAND test_roctracer_ablation WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
set_tests_properties(test_roctracer_ablation PROPERTIES LABELS quick TIMEOUT 300)
