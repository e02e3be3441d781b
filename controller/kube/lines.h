// Lines out of pieces that end anywhere. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/error.h"

namespace longshore::kube {

class Lines {
 public:
  explicit Lines(size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  // Calls on_line for each line that is whole now, without its end; empty ones are left out. Its error ends it.
  // ResourceExhausted for a line that is too long.
  template <typename OnLine>
  Status Feed(std::string_view piece, const OnLine& on_line) {
    for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      begun_.append(piece.substr(0, end));
      piece.remove_prefix(end + 1);
      if (begun_.size() > line_bytes_max_) return TooLong();
      if (!begun_.empty()) RETURN_IF_ERROR(on_line(std::string_view(begun_)));
      begun_.clear();
    }
    begun_.append(piece);
    if (begun_.size() > line_bytes_max_) return TooLong();
    return {};
  }

  // DataLoss when the last line has no end.
  Status End() const {
    if (begun_.empty()) return {};
    return DataLoss("it ended in the middle of a line, after {} bytes of it", begun_.size());
  }

 private:
  Status TooLong() const { return ResourceExhausted("a line is longer than {} bytes", line_bytes_max_); }

  const size_t line_bytes_max_;
  std::string begun_;
};

}  // namespace longshore::kube
