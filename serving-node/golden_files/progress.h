// Tells a person that a long command is at work.
#pragma once

#include <chrono>
#include <ostream>
#include <string>
#include <utility>

namespace longshore::golden_files {

// Not thread-safe.
class Progress {
 public:
  // The lines are "<what> 1200 records".
  Progress(std::string what, std::ostream& notes) : what_(std::move(what)), notes_(notes) {}

  // Prints how many records are done: first after a second, later at intervals that double up to 16 s.
  void Done(size_t records) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    notes_ << what_ << " " << records << " records" << std::endl;
    next_ = now + interval_;
    if (interval_ < std::chrono::seconds(16)) interval_ *= 2;
  }

 private:
  const std::string what_;
  std::ostream& notes_;
  std::chrono::seconds interval_{2};
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

}  // namespace longshore::golden_files
