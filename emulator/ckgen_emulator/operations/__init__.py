"""Operations of a generated library, called with tensors of this process and run on the emulator in another one."""
