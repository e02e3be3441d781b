#include "controller/cli/program.h"

int main(int argc, char** argv) { return longshore::cli::Main(argc, argv); }
