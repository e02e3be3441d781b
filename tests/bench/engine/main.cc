#include "tests/bench/engine/runner.h"

int main(int argc, char** argv) { return longshore::bench::engine::EngineMain(argc, argv); }
