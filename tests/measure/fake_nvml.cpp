// NVIDIA's library of clocks: the device at 0000:1N:00.0 runs at 1000 + N MHz.
#include <cstdint>
#include <cstdio>
#include <cstring>

extern "C" {

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.1");
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  int number = -1;
  if (std::strlen(bus) != 12 || std::sscanf(bus, "0000:1%1d:00.0", &number) != 1) return 2;
  *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(number) + 1);
  return 0;
}

int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  if (type != 1) return 2;
  *mhz = 1000 + static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device)) - 1;
  return 0;
}
}
