// The header fields of a request, as they were received.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace longshore::http2 {

// Keeps all fields in one string. A reader looks at each field once, so a map would only cost time. Not thread-safe
// while fields are added.
class Head {
 public:
  void Add(std::string_view name, std::string_view value) {
    const uint32_t sizes[] = {static_cast<uint32_t>(name.size()), static_cast<uint32_t>(value.size())};
    bytes_.append(reinterpret_cast<const char*>(sizes), sizeof sizes).append(name).append(value);
  }
  void Reserve(size_t bytes) { bytes_.reserve(bytes); }

  // Calls use(name, value) for each field in the order of the client. Names are in lower case; pseudo-header fields,
  // such as ":path", come first. The texts are valid as long as the head.
  template <typename Use>
  void ForEach(const Use& use) const {
    for (std::string_view rest = bytes_; !rest.empty();) {
      uint32_t sizes[2];
      std::memcpy(sizes, rest.data(), sizeof sizes);
      rest.remove_prefix(sizeof sizes);
      use(rest.substr(0, sizes[0]), rest.substr(sizes[0], sizes[1]));
      rest.remove_prefix(size_t{sizes[0]} + sizes[1]);
    }
  }

  // Returns the first value of the field; nullopt if it was not sent. Requires: name in lower case.
  std::optional<std::string_view> Find(std::string_view name) const {
    std::optional<std::string_view> found;
    ForEach([&](std::string_view each, std::string_view value) {
      if (!found && each == name) found = value;
    });
    return found;
  }

 private:
  std::string bytes_;  // For each field: the sizes of its name and value, as two uint32_t, and both texts.
};

}  // namespace longshore::http2
