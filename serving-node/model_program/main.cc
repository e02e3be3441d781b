// The program longshore-model: the commands `longshore model`, `longshore golden` and `longshore check-version`.
#include "serving-node/golden_files/program.h"
#include "serving-node/inspect/program.h"

int main(int argc, char** argv) {
  if (argc > 1 && longshore::golden_files::IsCommand(argv[1])) return longshore::golden_files::Main(argc, argv);
  return longshore::inspect::Main(argc, argv);
}
