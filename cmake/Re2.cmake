# The target longshore_re2: RE2, from its CMake package or, as in Debian 12, from pkg-config.

find_package(re2 CONFIG QUIET)
add_library(longshore_re2 INTERFACE)
if(TARGET re2::re2)
  target_link_libraries(longshore_re2 INTERFACE re2::re2)
else()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(LONGSHORE_RE2 REQUIRED IMPORTED_TARGET re2)
  target_link_libraries(longshore_re2 INTERFACE PkgConfig::LONGSHORE_RE2)
endif()
