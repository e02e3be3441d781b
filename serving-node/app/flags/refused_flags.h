// The flags of tensorflow_model_server, of its current and its earlier releases, for features that Longshore does not
// support. None is silently ignored: values
// that change nothing are accepted, all others are rejected with an explanation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

class RefusedFlags {
 public:
  // Adds the flags, hidden from --help. This object must outlive the app.
  void AddTo(CLI::App& app);

  // Call it after parsing. Returns an error that names the first flag with a wrong value: InvalidArgument if it has the
  // wrong type, Unimplemented if it asks for an unsupported feature.
  Status Check() const;
  // One sentence for each given flag that limits nothing here.
  std::vector<std::string> Notes() const;

 private:
  std::map<std::string, std::string> given_;
};

}  // namespace longshore::app::flags
