// Which tests may skip, and why. A skipped test has checked nothing, so a skip without a row in skips.cc fails the run,
// and so does a test that is disabled, with the prefix DISABLED_.
#pragma once

#include <string>
#include <vector>

namespace longshore::gtest_main {

struct Skip {
  std::string test;  // "Suite.Name".
  std::string reason;
};

enum class Build { kPlain, kAddressSanitizer, kThreadSanitizer };

#if defined(LONGSHORE_SANITIZER_THREAD)
inline constexpr Build kThisBuild = Build::kThreadSanitizer;
#elif defined(LONGSHORE_SANITIZER)
inline constexpr Build kThisBuild = Build::kAddressSanitizer;
#else
inline constexpr Build kThisBuild = Build::kPlain;
#endif

// If no test failed, returns the reason to report failure anyway, such as a skip that is not listed, or "" to report
// success. `tests`: how many tests were selected. `disabled`: the names of all disabled tests of the program, as
// "Suite.Name".
std::string FindFault(int tests, const std::vector<Skip>& skips, const std::vector<std::string>& disabled, Build build);

}  // namespace longshore::gtest_main
