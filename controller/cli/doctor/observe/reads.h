// Runs slow reads at the same time.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace longshore::cli::doctor::observe {

struct Read {
  std::string what;           // For people: "the API server".
  std::function<void()> run;  // Limits its own time. Writes only to variables that no other read uses.
};

// Runs all reads on several threads and returns when all have ended. Calls `on_slow`, on the caller's thread, once with
// the name of each read that takes longer than a second.
void RunAll(const std::vector<Read>& reads, const std::function<void(const std::string& what)>& on_slow);

}  // namespace longshore::cli::doctor::observe
