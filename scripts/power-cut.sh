#!/usr/bin/env bash
# A disk whose power can be cut. It is an ext4 file system on a block device whose write-back cache is in one process:
# flushed blocks (fsync, fdatasync) are in the image, all others only in that process. `cut` kills it with -9, so that
# every block that was not flushed is lost. A kill of the service alone proves nothing about flushing: its writes are in
# the kernel, which keeps running.
#
#   power-cut.sh on  STATE [SIZE_MB]   creates the disk, or connects it again; prints the folder for the data
#   power-cut.sh cut STATE PID...      cuts the power and kills the processes; `on` again shows what is left
#   power-cut.sh off STATE             unmounts the disk cleanly, without loss
#
# Needs root and Debian's packages nbdkit, libnbd-bin, fuse3 and e2fsprogs. All unflushed blocks are lost: there are no
# torn or reordered writes.
set -euo pipefail
verb=${1:?on, cut or off}
state=${2:?a folder for the state}
mkdir -p "$state"
state=$(cd "$state" && pwd)
image=$state/disk.img
device=$state/device
socket=$state/nbd.sock
mount=$state/mnt

wait_for() {
  for _ in $(seq 250); do
    "$@" && return
    sleep .02
  done
  echo "power-cut: gave up waiting: $*" >&2
  exit 1
}

device_ready() { [ "$(stat -c %s "$device" 2>/dev/null || echo 0)" -gt 0 ]; }
unmounted() { ! grep -q " $mount " /proc/self/mounts && ! losetup -a | grep -qF "($device)"; }
gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; }

end_process_of() {
  [ -f "$1" ] || return 0
  kill -9 "$(cat "$1")" 2>/dev/null || true
  wait_for gone "$(cat "$1")"
  rm -f "$1"
}

# Removes the mount, the loop device and the FUSE file. The device's process has ended or is idle.
take_apart() {
  umount -l "$mount" 2>/dev/null || true
  losetup -j "$device" 2>/dev/null | cut -d: -f1 | while read -r loop; do losetup -d "$loop" 2>/dev/null || true; done
  end_process_of "$state/nbdkit.pid"
  end_process_of "$state/nbdfuse.pid"
  fusermount3 -uz "$device" 2>/dev/null || true
  wait_for unmounted
}

case $verb in
on)
  take_apart
  [ -f "$image" ] || {
    truncate -s "${3:-512}M" "$image"
    mkfs.ext4 -q -F "$image"
  }
  mkdir -p "$mount"
  : >"$device"
  rm -f "$socket"
  # nbdkit shuts down when its parent process ends, so this shell keeps running.
  setsid bash -c 'cd "$1"
    nbdkit -f -U nbd.sock --filter=cache file disk.img cache=writeback cache-min-block-size=4096 & echo $! >nbdkit.pid
    until [ -S nbd.sock ]; do sleep .01; done
    nbdfuse device --unix nbd.sock & echo $! >nbdfuse.pid
    wait' power-cut "$state" >"$state/log" 2>&1 </dev/null &
  wait_for device_ready
  mount "$(losetup --show -f "$device")" "$mount"
  mkdir -p "$mount/data"
  echo "$mount/data"
  ;;
cut)
  end_process_of "$state/nbdkit.pid"
  for pid in "${@:3}"; do
    kill -9 "$pid" 2>/dev/null || true
    wait_for gone "$pid"
  done
  take_apart
  ;;
off)
  umount "$mount"
  take_apart
  ;;
*)
  echo "power-cut: on, cut or off" >&2
  exit 2
  ;;
esac
