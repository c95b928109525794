// out[i] = sum(in) - in[i] over all workgroups: each adds up its part, the last to come adds up the parts and raises a
// flag, for which all wait. gfx942; 256 work items; at most 32 workgroups, all of them resident.
//
// kernarg: in, out, partial[groups], sync (dword 0 arrivals, 16 flag, 32 total), n, groups; eight bytes each.
.text
.globl reduction
.p2align 8
.type reduction,@function
reduction:
  s_load_dwordx8 s[8:15], s[0:1], 0x0
  s_load_dwordx4 s[16:19], s[0:1], 0x20
  v_readfirstlane_b32 s21, v0
  v_mbcnt_lo_u32_b32 v6, -1, 0
  v_mbcnt_hi_u32_b32 v6, -1, v6
  v_mov_b32_e32 v9, 0
  s_lshl_b32 s20, s2, 8
  v_add_u32_e32 v1, s20, v0
  v_lshlrev_b32_e32 v2, 2, v1
  v_lshlrev_b32_e32 v3, 2, v0
  s_lshl_b32 s21, s21, 2
  s_waitcnt lgkmcnt(0)

  // Each wave's 64 elements straight to LDS.
  s_mov_b32 s24, s8
  s_and_b32 s25, s9, 0xffff
  s_lshl_b32 s26, s16, 2
  s_mov_b32 s27, 0x00020000
  s_mov_b32 m0, s21
  buffer_load_dword v2, s[24:27], 0 offen lds
  v_cmp_gt_u32_e64 s[40:41], s16, v1
  s_waitcnt vmcnt(0)
  ds_read_b32 v4, v3
  s_waitcnt lgkmcnt(0)
  v_cndmask_b32_e64 v5, 0, v4, s[40:41]

  // The wave's sum in lane 63.
  s_nop 1
  v_add_u32_dpp v5, v5, v5 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
  s_nop 1
  v_add_u32_dpp v5, v5, v5 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:0
  s_nop 1
  v_add_u32_dpp v5, v5, v5 row_shr:4 row_mask:0xf bank_mask:0xf bound_ctrl:0
  s_nop 1
  v_add_u32_dpp v5, v5, v5 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:0
  s_nop 1
  v_add_u32_dpp v5, v5, v5 row_bcast:15 row_mask:0xa bank_mask:0xf
  s_nop 1
  v_add_u32_dpp v5, v5, v5 row_bcast:31 row_mask:0xc bank_mask:0xf
  s_nop 0
  v_readlane_b32 s22, v5, 63

  // The workgroup's sum in v14 of every wave.
  v_cmp_eq_u32_e32 vcc, 0, v6
  s_lshr_b32 s23, s21, 6
  s_and_saveexec_b64 s[30:31], vcc
  v_mov_b32_e32 v7, s22
  v_mov_b32_e32 v8, s23
  ds_write_b32 v8, v7 offset:1024
  s_mov_b64 exec, s[30:31]
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b128 v[10:13], v9 offset:1024
  s_waitcnt lgkmcnt(0)
  v_add3_u32 v14, v10, v11, v12
  v_add_u32_e32 v14, v14, v13

  // One lane of the workgroup publishes it and learns whether it is the last.
  s_cmp_lg_u32 s21, 0
  s_cbranch_scc1 .Lwait
  s_and_saveexec_b64 s[30:31], vcc
  s_lshl_b32 s33, s2, 2
  v_mov_b32_e32 v15, s33
  v_mov_b32_e32 v16, 1
  global_store_dword v15, v14, s[12:13]
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)
  global_atomic_add v17, v9, v16, s[14:15] sc0
  s_waitcnt vmcnt(0)
  buffer_inv sc1
  v_readfirstlane_b32 s28, v17
  s_mov_b64 exec, s[30:31]
  s_add_i32 s29, s18, -1
  s_cmp_lg_u32 s28, s29
  s_cbranch_scc1 .Lwait

  // The last one: a lane per workgroup.
  v_lshlrev_b32_e32 v18, 2, v6
  v_mov_b32_e32 v19, 0
  v_cmp_gt_u32_e32 vcc, s18, v6
  s_and_saveexec_b64 s[30:31], vcc
  global_load_dword v19, v18, s[12:13]
  s_or_b64 exec, exec, s[30:31]
  s_waitcnt vmcnt(0)
  ds_swizzle_b32 v23, v19 offset:0x041f
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v19, v19, v23
  ds_swizzle_b32 v23, v19 offset:0x081f
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v19, v19, v23
  ds_swizzle_b32 v23, v19 offset:0x101f
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v19, v19, v23
  ds_swizzle_b32 v23, v19 offset:0x201f
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v19, v19, v23
  ds_swizzle_b32 v23, v19 offset:0x401f
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v19, v19, v23
  v_cmp_eq_u32_e32 vcc, 0, v6
  s_and_saveexec_b64 s[30:31], vcc
  global_store_dword v9, v19, s[14:15] offset:128
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v16, 1
  global_store_dword v9, v16, s[14:15] offset:64 sc1
  s_mov_b64 exec, s[30:31]

.Lwait:
  global_load_dword v20, v9, s[14:15] offset:64 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s34, v20
  s_cmp_lg_u32 s34, 1
  s_cbranch_scc1 .Lwait
  buffer_inv sc1
  global_load_dword v21, v9, s[14:15] offset:128
  s_waitcnt vmcnt(0)
  v_sub_u32_e32 v22, v21, v4
  s_and_saveexec_b64 s[30:31], s[40:41]
  global_store_dword v2, v22, s[10:11]
  s_endpgm
.Lend:
.size reduction, .Lend-reduction
.rodata
.p2align 6
.amdhsa_kernel reduction
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_group_segment_fixed_size 1040
  .amdhsa_kernarg_size 48
  .amdhsa_next_free_vgpr 24
  .amdhsa_next_free_sgpr 48
  .amdhsa_accum_offset 24
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: reduction
    .symbol: reduction.kd
    .kernarg_segment_size: 48
    .group_segment_fixed_size: 1040
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 48
    .vgpr_count: 24
    .max_flat_workgroup_size: 256
...
.end_amdgpu_metadata
