#include "tests/fuzz/fuzz.h"

namespace longshore::fuzz {

Added added;

void AddReceived(size_t bytes) { added.received += bytes; }
void AddParsed(size_t bytes) { added.parsed += bytes; }

}  // namespace longshore::fuzz
