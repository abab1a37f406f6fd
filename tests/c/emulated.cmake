# What starts itself once more cannot do so where another processor is emulated: the emulator does not start programs. Its
# second half is then a test of its own.
if(CMAKE_CROSSCOMPILING_EMULATOR)
  add_test(NAME test_mspti_session_preloaded COMMAND test_mspti_session preloaded WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(test_mspti_session_preloaded PROPERTIES LABELS quick TIMEOUT 300
    ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:flagsim_mspti>")
endif()
