// Decompresses a gzip file as a stream.
#pragma once

#include "serving-node/sources/tar_reader.h"

namespace longshore::sources {

// Returns the decompressed bytes of `compressed`, which has one or more gzip members. Reading fails with
// InvalidArgument if the file is damaged or incomplete. Needs 64 KiB of memory, regardless of the size.
ByteSource Gunzipped(ByteSource compressed);

}  // namespace longshore::sources
