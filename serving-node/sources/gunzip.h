// The plain bytes of a gzip file, as they are asked for.
#pragma once

#include "serving-node/sources/tar_reader.h"

namespace longshore::sources {

// What `compressed` gives, inflated; one or more gzip members. InvalidArgument when it is damaged or ends early. Keeps
// 64 KiB, however much comes out.
ByteSource Gunzipped(ByteSource compressed);

}  // namespace longshore::sources
