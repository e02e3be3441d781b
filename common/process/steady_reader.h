// Reading files of gigabytes beside traffic.
#pragma once

#include <cstdint>
#include <span>

#include "common/process/descriptors.h"

namespace longshore::process {

// Reads a file in order, so that nobody waits long for the processor meanwhile: a kernel that does not preempt itself
// keeps it for a whole call, and left alone it fetches up to as many megabytes as the device likes in one of them
// (/sys/block/*/queue/read_ahead_kb; 4 ms for 8 MB). This one announces 256 KiB at a time, a step ahead.
class SteadyReader {
 public:
  // How much to ask for at once, so that a call is short and what came is still in the processor's cache.
  static constexpr size_t kPieceBytes = 64 << 10;

  // At byte `offset`. NotFound when the file cannot be opened.
  static Result<SteadyReader> Open(const Path& path, int64_t offset = 0);

  // The next bytes.size() bytes, fewer only at the file's end: how many. DataLoss when the device fails.
  Result<size_t> Read(std::span<char> bytes);

 private:
  SteadyReader(Descriptor file, Path path, int64_t offset);
  void Announce();

  Descriptor file_;
  Path path_;
  int64_t at_;
  int64_t announced_;  // Up to here.
};

}  // namespace longshore::process
