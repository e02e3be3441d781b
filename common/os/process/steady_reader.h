// Reads files of gigabytes while requests are being answered.
#pragma once

#include <cstdint>
#include <span>

#include "common/os/process/descriptors.h"

namespace longshore::process {

// Reads a file in order, without keeping other threads from the processor for long. A kernel without preemption holds
// the processor during a whole system call. By default one call may read several megabytes ahead (the setting is
// /sys/block/*/queue/read_ahead_kb); a call with 8 MB takes 4 ms. This class reads 256 KiB ahead at a time instead,
// and calls GiveWay after each 64 KiB.
class SteadyReader {
 public:
  // The recommended size for Read: with it, each call is short, and the bytes are still in the processor's cache
  // afterwards.
  static constexpr size_t kPieceBytes = 64 << 10;

  // Opens a file and begins to read at byte `offset`. Returns NotFound if the file cannot be opened.
  static Result<SteadyReader> Open(const Path& path, int64_t offset = 0);

  // Reads the next bytes.size() bytes, fewer only at the end of the file. Returns the number of read bytes, or DataLoss
  // on failure.
  Result<size_t> Read(std::span<char> bytes);

 private:
  SteadyReader(Descriptor file, Path path, int64_t offset);
  void Announce();

  Descriptor file_;
  Path path_;
  int64_t at_;
  int64_t announced_;                 // The end of the range that was announced to the kernel for read-ahead.
  size_t until_pause_ = kPieceBytes;  // How many bytes are read before the next call of GiveWay.
};

}  // namespace longshore::process
