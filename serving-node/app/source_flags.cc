#include "serving-node/app/source_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app {
namespace {

constexpr const char* kCacheDir = "--cache_dir";
constexpr const char* kCacheBytesMax = "--cache_bytes_max";
constexpr const char* kSourceCaFile = "--source_ca_file";

}  // namespace

void SourceFlags::AddTo(CLI::App& app) {
  const std::string group = "Models that come from archives by https, of a node of a fleet";
  app.add_option(kCacheDir, cache_dir,
                 "where archives are kept, verified and unpacked; kept over restarts, of one node [STATE_DIR/cache]")
      ->group(group);
  app.add_option(
         kCacheBytesMax, cache_bytes_max,
         "what it may hold, an archive and what it unpacks to while it is fetched included; what no model names "
         "leaves first, least recently used first [17179869184]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option(kSourceCaFile, source_ca_file,
                 "PEM: who signs the certificates of the archives' hosts, and nobody else [the system's authorities]")
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

}  // namespace longshore::app
