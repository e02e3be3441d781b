// Parses numbers from text.
#pragma once

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace longshore::engine::kernels {

// Parses a float as C does, including hexadecimal. Values out of range become infinity or zero. Returns nullopt if any
// character remains after the number.
template <typename T>
std::optional<T> FloatOf(const std::string& text) {
  char* end = nullptr;
  const T value = std::is_same_v<T, float> ? static_cast<T>(std::strtof(text.c_str(), &end))
                                           : static_cast<T>(std::strtod(text.c_str(), &end));
  if (end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
std::optional<T> IntegerOf(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses the whole text, without the white space around it, as one number. Returns nullopt if it is not a valid T.
template <typename T>
std::optional<T> NumberOf(const std::string& text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return std::nullopt;
  const std::string inner = text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
  if constexpr (std::is_floating_point_v<T>)
    return FloatOf<T>(inner);
  else
    return IntegerOf<T>(inner);
}

}  // namespace longshore::engine::kernels
