# The tracers of CUPTI's copies once more, built so that each countermeasure can be switched off: without it the tests must
# fail. The objects named here stand before those of fp_core, which are then not taken.
set(parts twin_session twin_decode mcpti mupti cupti_ppu)
list(TRANSFORM parts PREPEND ${CMAKE_SOURCE_DIR}/src/tracers/)
list(TRANSFORM parts APPEND .c)
add_executable(test_twin_ablation twin_ablation.c ${parts})
target_compile_definitions(test_twin_ablation PRIVATE FP_ABLATION BUILD_DIR="${CMAKE_BINARY_DIR}")
target_include_directories(test_twin_ablation PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/sim)
target_link_libraries(test_twin_ablation PRIVATE fp_core flagsim ${CMOCKA})
add_dependencies(test_twin_ablation flagsim_mcpti flagsim_mupti flagsim_ppu)
add_test(NAME test_twin_ablation COMMAND test_twin_ablation WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
set_tests_properties(test_twin_ablation PROPERTIES LABELS quick TIMEOUT 300)
