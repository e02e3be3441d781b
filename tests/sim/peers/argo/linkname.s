// This file is empty. It makes the compiler accept functions without a body, which go:linkname needs.
