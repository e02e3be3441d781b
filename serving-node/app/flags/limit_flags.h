// The flags that limit the memory and the elements of one request.
#pragma once

#include "common/base/budget.h"
#include "common/base/error.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct LimitFlags {
  Budget budget;

  void AddTo(CLI::App& app);
  // InvalidArgument for a limit below 1, which no request could meet.
  Status Check() const;
};

}  // namespace longshore::app::flags
