"""What a library's C handles are in Python: owned, and ended with the object."""

from __future__ import annotations

from ctypes import byref, c_int32, c_uint64, c_void_p

from ckgen.model.target import Target
from ckgen.runtime.abi import Abi, RuntimeFailure
from ckgen.runtime.structs import DeviceStruct

_KINDS = ("unknown", "simulated", "host", "gpu")


class Handle:
    """Owns one C handle."""

    kind = ""

    def __init__(self, api: Abi, handle: c_void_p) -> None:
        self._abi = api
        self.handle = handle

    @property
    def address(self) -> int:
        """The handle as C has it."""
        return self.handle.value or 0

    def __del__(self) -> None:
        self._abi.destroy(self.kind, self.handle)


class Device(Handle):
    """Where a problem is to run."""

    kind = "device"

    def __str__(self) -> str:
        return f"{self.target} ({_KINDS[self._described().kind]})"

    @property
    def is_gpu(self) -> bool:
        """Whether it is a real GPU."""
        return _KINDS[self._described().kind] == "gpu"

    @property
    def index(self) -> int:
        """The number that the GPU's runtime counts it by."""
        return int(self._described().id)

    @property
    def target(self) -> str:
        """Its arch and count, as in gfx942:304; behind them its product where that is known."""
        return str(self._target)

    def is_of(self, target: Target) -> bool:
        """Whether what is built for the target is for this device: one of no product is for all products."""
        return target in (self._target, self._target.any_sku)

    @property
    def brand(self) -> str:
        """The product's name; empty where nobody says."""
        return bytes(self._described().brand or b"").decode()

    @property
    def note(self) -> str:
        """Why the current device is the CPU; else empty."""
        return bytes(self._described().note or b"").decode()

    @property
    def _target(self) -> Target:
        info = self._described()
        return Target(info.gfx.decode(), info.cu_num, bytes(info.sku or b"").decode())

    def _described(self) -> DeviceStruct:
        info = DeviceStruct()
        self._abi.call("device_describe", self.handle, byref(info))
        return info


class Registry(Handle):
    kind = "registry"


class GroupsHandle(Handle):
    """The sizes of a grouped GEMM's groups; made by RuntimeLibrary.groups."""

    kind = "groups"


class Plan(Handle):
    """What a problem became on a device; made by Dispatcher.plan."""

    kind = "plan"

    def __init__(self, api: Abi, handle: c_void_p, signature: str, groups: GroupsHandle | None = None) -> None:
        super().__init__(api, handle)
        self.signature = signature  # canonical
        self._groups = groups  # a plan points at them

    @property
    def block_m(self) -> int:
        """Of op moe: the block_m of sorted tokens that it reads."""
        found = c_int32()
        self._abi.call("plan_block_m", self.handle, byref(found))
        return found.value

    @property
    def workspace_size(self) -> int:
        """Bytes."""
        size = c_uint64()
        self._abi.call("plan_workspace", self.handle, byref(size))
        return size.value

    @property
    def refusal(self) -> str:
        """Why the plan cannot be launched on its device; empty where it can."""
        try:
            self._abi.call("plan_launchable", self.handle)
        except RuntimeFailure as failure:
            return str(failure)
        return ""
