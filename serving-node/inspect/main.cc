// longshore-model: what is in a SavedModel, whether it runs here, and what it answers.
#include "serving-node/inspect/program.h"

int main(int argc, char** argv) { return longshore::inspect::Main(argc, argv); }
