#include "controller/cli/logs/printer.h"

#include <ostream>

namespace longshore::cli::logs {

void Printer::Print(std::string_view piece) {
  const size_t whole = piece.rfind('\n');
  if (whole == std::string_view::npos) {
    rest_ += piece;
    return;
  }
  const std::string lines = rest_ + std::string(piece.substr(0, whole + 1));
  rest_ = piece.substr(whole + 1);
  const std::scoped_lock lock(mutex_);
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = lines.find('\n', begin) + 1;
    out_ << prefix_ << std::string_view(lines).substr(begin, end - begin);
    begin = end;
  }
  out_ << std::flush;
}

void Printer::End() {
  if (!rest_.empty()) Print("\n");
}

}  // namespace longshore::cli::logs
