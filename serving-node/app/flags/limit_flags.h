// The flags that limit the memory and the elements of one request.
#pragma once

#include "common/base/budget.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct LimitFlags {
  Budget budget;

  void AddTo(CLI::App& app);
};

}  // namespace longshore::app::flags
