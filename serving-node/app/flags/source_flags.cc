#include "serving-node/app/flags/source_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app::flags {
namespace {

constexpr const char* kCacheDir = "--cache_dir";
constexpr const char* kCacheBytesMax = "--cache_bytes_max";
constexpr const char* kSourceCaFile = "--source_ca_file";

}  // namespace

void SourceFlags::AddTo(CLI::App& app) {
  const std::string group = "Models from archives over https (managed nodes only)";
  app.add_option(kCacheDir, cache_dir,
                 "directory for verified and unpacked archives; keep it across restarts; each node needs its own "
                 "[STATE_DIR/cache]")
      ->group(group);
  app.add_option(
         kCacheBytesMax, cache_bytes_max,
         "largest size of --cache_dir in bytes, including archives during download and unpacking; archives that no "
         "model uses are evicted, the least recently used first [17179869184]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option(kSourceCaFile, source_ca_file,
                 "PEM certificates of the only CAs that may sign the certificates of archive hosts [the system's CAs]")
      ->group(group);
}

std::vector<const char*> SourceFlags::Given(const CLI::App& app) {
  std::vector<const char*> given;
  for (const char* name : {kCacheDir, kCacheBytesMax, kSourceCaFile}) {
    if (app.count(name) > 0) given.push_back(name);
  }
  return given;
}

sources::SourcesOptions SourceFlags::Options(const Path& state_dir) const {
  sources::SourcesOptions options;
  options.cache_dir = cache_dir.empty() ? state_dir / "cache" : cache_dir;
  options.cache_bytes_max = cache_bytes_max;
  options.request.ca_file = source_ca_file;
  return options;
}

}  // namespace longshore::app::flags
