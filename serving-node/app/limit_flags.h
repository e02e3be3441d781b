// The flags that say how much a request may take.
#pragma once

#include "common/budget.h"
#include "common/error.h"

namespace CLI {
class App;
}

namespace longshore::app {

struct LimitFlags {
  Budget budget;

  void AddTo(CLI::App& app);
  // InvalidArgument for a limit that would let nothing through.
  Status Check() const;
};

}  // namespace longshore::app
