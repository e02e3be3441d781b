// Flags of tensorflow_model_server that ask for what is not here. All are known, so that none is silently ignored: a
// value that asks for nothing is accepted, any other is refused with a sentence that says why and what to do.
#pragma once

#include <map>
#include <string>

#include "common/error.h"

namespace CLI {
class App;
}

namespace longshore::app {

class RefusedFlags {
 public:
  // The flags are not in --help. The app must not outlive this.
  void AddTo(CLI::App& app);

  // After parsing. Unimplemented naming the first flag that asks for something.
  Status Check() const;

 private:
  std::map<std::string, std::string> given_;
};

}  // namespace longshore::app
