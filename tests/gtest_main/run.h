// Runs the tests of a program. A run in which no test ran, or in which a test skipped without a row in skips.cc, fails.
#pragma once

namespace longshore::gtest_main {

// Returns the exit code of the program.
int RunTests(int argc, char** argv);

}  // namespace longshore::gtest_main
