// A test binary with counted_new.cpp counts what operator new is asked for.
#pragma once

/// Calls of operator new in this process so far.
long allocations() noexcept;
