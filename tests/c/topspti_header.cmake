# The sessions on a simulated TOPSPTI once more, with the tracer's one file of offsets compiled against our stand-in of the
# SDK's header. The objects named here stand before those of fp_core, which are then not taken.
add_executable(test_topspti_header test_topspti_session.c ${CMAKE_SOURCE_DIR}/src/tracers/topspti_header.c)
target_compile_definitions(test_topspti_header PRIVATE FP_TOPSPTI_HEADER STANDIN_HEADER BUILD_DIR="${CMAKE_BINARY_DIR}")
target_include_directories(test_topspti_header PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/sim ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(test_topspti_header SYSTEM PRIVATE ${CMAKE_SOURCE_DIR}/tests/standin/topspti)
target_link_libraries(test_topspti_header PRIVATE fp_core flagsim ${CMOCKA})
add_dependencies(test_topspti_header flagsim_topspti)
add_test(NAME test_topspti_header COMMAND test_topspti_header WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
set_tests_properties(test_topspti_header PROPERTIES LABELS quick TIMEOUT 300)
