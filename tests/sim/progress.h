// Says on the standard error output what is being simulated, because a table takes minutes.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

namespace longshore::sim {

// Thread-safe. Prints a line at the beginning, and one every ten seconds.
class Progress {
 public:
  Progress(std::string what, int total);
  // One more of the total is done.
  void Add();

 private:
  const std::string what_;
  const int total_;
  std::mutex mutex_;
  int done_ = 0;
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

}  // namespace longshore::sim
