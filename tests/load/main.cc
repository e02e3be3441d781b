#include "tests/load/program.h"

int main(int argc, char** argv) { return longshore::load::Main(argc, argv); }
