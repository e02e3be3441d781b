// The command line of longshore-load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/load/generator.h"
#include "tests/load/samples.h"

namespace longshore::load {

struct Flags {
  std::string grpc_target;
  std::string rest_target;
  int connections = 8;
  bool fresh_connections = false;
  int deadline_ms = 5000;
  double duration_s = 0;
  std::string moves_file;
  bool json = false;
  std::vector<std::string> compare;  // Empty, or the two files to compare; the other flags then have no meaning.
  SampleOptions samples;
  GeneratorOptions generator;
};

// Returns nullopt if --help was printed. The error's message can be shown to the user as it is.
Result<std::optional<Flags>> ParseFlags(int argc, char** argv);

}  // namespace longshore::load
