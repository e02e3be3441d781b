// The built pages of the console, which are part of the program: the files of controller/console/dist.
#pragma once

#include <span>
#include <string_view>

namespace longshore::console {

struct File {
  std::string_view name;  // "console.js".
  std::string_view bytes;
};

// CMake generates the source of this function (controller/console/embed.cmake).
std::span<const File> Files();

}  // namespace longshore::console
