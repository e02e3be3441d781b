// The program longshore-model: inspects, checks and runs SavedModels.
#include "serving-node/inspect/program.h"

int main(int argc, char** argv) { return longshore::inspect::Main(argc, argv); }
