"""The version of ckgen, read by the Python build, by CMake and by generated banners."""

__version__ = "0.1.0"
