// Prints a log that arrives in pieces.
#pragma once

#include <iosfwd>
#include <mutex>
#include <string>
#include <string_view>

namespace longshore::cli::logs {

// Several printers may share one stream and its mutex, each in its own thread: lines are never mixed.
class Printer {
 public:
  Printer(std::ostream& out, std::mutex& mutex, std::string prefix)
      : out_(out), mutex_(mutex), prefix_(std::move(prefix)) {}

  // Prints the lines that are complete now.
  void Print(std::string_view piece);
  // Prints the last line even if it is incomplete.
  void End();

 private:
  std::ostream& out_;
  std::mutex& mutex_;
  const std::string prefix_;
  std::string rest_;  // The incomplete line at the end of the pieces.
};

}  // namespace longshore::cli::logs
