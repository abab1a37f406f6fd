# The CUPTI facades' own test, once for each release that was built: it reads the facade's bytes by the structs of that
# release's header, so it is compiled against NVIDIA's headers like the facade.
find_package(Threads REQUIRED)
get_property(facades GLOBAL PROPERTY FLAGSIM_CUPTI_FACADES)
list(LENGTH facades facade_count)
if(facade_count)
  list(GET facades -1 other) # a second library for the process that opens two
endif()
foreach(facade ${facades})
  set(test test_sim_cupti_${facade})
  add_executable(${test} sim_cupti_facade.c)
  target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/sim)
  get_target_property(system flagsim_cupti_${facade} FLAGSIM_SYSTEM_INCLUDES)
  get_target_property(number flagsim_cupti_${facade} FLAGSIM_RELEASE)
  target_include_directories(${test} SYSTEM PRIVATE ${system})
  target_compile_definitions(${test} PRIVATE CUPTI_RELEASE=${number} CUPTI_RELEASE_TEXT="${facade}"
    FACADE="$<TARGET_FILE:flagsim_cupti_${facade}>" OTHER_FACADE="$<TARGET_FILE:flagsim_cupti_${other}>")
  get_target_property(release flagsim_cupti_${facade} FLAGSIM_RELEASE_TEXT)
  target_compile_definitions(${test} PRIVATE
    HARDWARE="${CMAKE_SOURCE_DIR}/tests/fixtures/buffers/cupti-h200/${release}-late.bin")
  target_link_libraries(${test} PRIVATE flagsim ${CMOCKA} Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(${test} flagsim_cupti_${facade} flagsim_cupti_${other})
  set(other ${facade})
  add_test(NAME ${test} COMMAND ${test} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(${test} PROPERTIES LABELS quick TIMEOUT 300)
endforeach()

add_test(NAME test_sim_walls COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -P ${CMAKE_CURRENT_SOURCE_DIR}/sim_walls.cmake)
set_tests_properties(test_sim_walls PROPERTIES LABELS quick TIMEOUT 30)
