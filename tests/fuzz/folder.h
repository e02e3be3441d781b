// A temporary folder for the files of a fuzzer; removed when the process ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::fuzz {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "longshore-fuzz-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const Path& path() const { return path_; }

  void Write(const Path& name, std::string_view bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  Path path_;
};

}  // namespace longshore::fuzz
