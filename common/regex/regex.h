// Regular expressions that users write, matched by RE2. A match takes at most about 50 microseconds, whatever the
// expression and the text: `./dev bench routes` measures it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace re2 {
class RE2;
}

namespace longshore::regex {

inline constexpr size_t kBytesMax = 256;
// The maximum number of RE2's instructions. An expression with counted repetitions, such as (a{1,30}){1,30}, can be
// short and still have very many.
inline constexpr int kInstructionsMax = 100;
// A longer text does not match any expression.
inline constexpr size_t kTextBytesMax = 256;
// The longest time of a match is proportional to the number of instructions multiplied by the length of the text. This
// is the maximum of this product, so an expression with 100 instructions does not match a text above 64 bytes.
inline constexpr size_t kStepsMax = 6'400;

// A compiled expression. Immutable and cheap to copy; thread-safe.
class Expression {
 public:
  // Returns InvalidArgument if the expression is empty, too long, not valid or too complex. The message says what RE2
  // objects to, and at which character.
  static Result<Expression> Compile(const std::string& expression);

  // Returns true if the expression matches the whole text. Text that is not valid UTF-8 matches no `.`.
  bool Matches(std::string_view text) const;

  // The length of the longest text that the expression can match: kTextBytesMax, or fewer if it has many instructions.
  size_t text_bytes_max() const { return text_bytes_max_; }

 private:
  explicit Expression(std::shared_ptr<const re2::RE2> compiled);

  std::shared_ptr<const re2::RE2> compiled_;
  size_t text_bytes_max_ = 0;
};

}  // namespace longshore::regex
