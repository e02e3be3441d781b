// Splits a text that arrives in pieces into lines. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"

namespace longshore::kube {

class LineSplitter {
 public:
  explicit LineSplitter(size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  // Calls `on_line` for each line that is complete now, without its newline, and skips empty lines. Stops with the
  // error if `on_line` returns one. Returns ResourceExhausted if a line is too long.
  template <typename OnLine>
  Status Feed(std::string_view piece, const OnLine& on_line) {
    for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      partial_line_.append(piece.substr(0, end));
      piece.remove_prefix(end + 1);
      if (partial_line_.size() > line_bytes_max_) return TooLong();
      if (!partial_line_.empty()) RETURN_IF_ERROR(on_line(std::string_view(partial_line_)));
      partial_line_.clear();
    }
    partial_line_.append(piece);
    if (partial_line_.size() > line_bytes_max_) return TooLong();
    return {};
  }

  // Returns DataLoss if the last line is incomplete.
  Status End() const {
    if (partial_line_.empty()) return {};
    return DataLoss("the text ended within a line, after {} bytes of the line", partial_line_.size());
  }

 private:
  Status TooLong() const { return ResourceExhausted("a line is longer than {} bytes", line_bytes_max_); }

  const size_t line_bytes_max_;
  std::string partial_line_;
};

}  // namespace longshore::kube
