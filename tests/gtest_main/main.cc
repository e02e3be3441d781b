#include "tests/gtest_main/run.h"

int main(int argc, char** argv) { return longshore::gtest_main::RunTests(argc, argv); }
