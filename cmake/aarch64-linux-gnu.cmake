# aarch64-linux-gnu.cmake - the toolchain file for FlagProf on 64-bit Arm: Grace's, Ascend's and Kunpeng's hosts.
#
# In:  Debian's gcc-aarch64-linux-gnu and g++-aarch64-linux-gnu. FLAGPROF_SYSROOT (environment or cache): a folder with
#      an Arm system's libraries, build/sysroot if unset, which scripts/sysroot.sh makes.
# Out: cmake -S . -B build/aarch64 --toolchain cmake/aarch64-linux-gnu.cmake; where there is a qemu-aarch64, the tests
#      run under it. On an Arm machine nothing of this is needed: build there as everywhere.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(DEFINED ENV{FLAGPROF_SYSROOT})
  set(FLAGPROF_SYSROOT $ENV{FLAGPROF_SYSROOT})
elseif(NOT DEFINED FLAGPROF_SYSROOT)
  set(FLAGPROF_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot)
endif()
get_filename_component(FLAGPROF_SYSROOT ${FLAGPROF_SYSROOT} ABSOLUTE)
set(CMAKE_SYSROOT ${FLAGPROF_SYSROOT})
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FLAGPROF_SYSROOT) # what CMake tries first is compiled in a project of its own

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(FLAGPROF_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(FLAGPROF_QEMU)
  # A few tests ask for FLAGPROF_EMULATED, which says why they are skipped.
  set(CMAKE_CROSSCOMPILING_EMULATOR ${FLAGPROF_QEMU} -L ${CMAKE_SYSROOT} -E FLAGPROF_EMULATED=1)
endif()
