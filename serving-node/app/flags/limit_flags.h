// The flags that limit the memory and the elements of one request.
#pragma once

#include "common/base/budget.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct LimitFlags {
  Budget budget;
  double gpu_memory_fraction = 0;  // From 0 to 1. The engine runs on the CPU and does not use it.

  void AddTo(CLI::App& app);
};

}  // namespace longshore::app::flags
