// The flags of models that are fetched as archives over https.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/sources/sources.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct SourceFlags {
  Path cache_dir;  // Default: the folder `cache` in the state directory.
  int64_t cache_bytes_max = int64_t{16} << 30;
  Path source_ca_file;

  void AddTo(CLI::App& app);
  // Returns the names of those flags of this struct that the user gave. Only a managed node supports them.
  static std::vector<const char*> Given(const CLI::App& app);
  sources::SourcesOptions Options(const Path& state_dir) const;
};

}  // namespace longshore::app::flags
